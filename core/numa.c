/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hinting faults are counted for (kernel/sched/fair.c): when to scan, who belongs
 * together, which pages and which threads move.
 *
 * Faults are kept by node in four kinds: of the memory (NUMA_MEM) and of the CPU (NUMA_CPU)
 * that faulted, each as it was up to the last pass of the scan, with older passes counting half
 * of younger ones, and in a buffer for the present pass.
 */
#include "mm/numa.h"

#include "mm/mmap_lock.h"
#include "mm/vma.h"
#include "task.h"

KNOB_INT(numa_scan_size_mb, "numa.scan_size_mb", KNOB_POLICY, 256, 1, 65536,
	 "MiB that a scan marks", "sched_debug numa_balancing/scan_size_mb");
KNOB_INT(numa_scan_delay_ms, "numa.scan_delay_ms", KNOB_POLICY, 1000, 0, 60000,
	 "how old an address space is before its first scan",
	 "sched_debug numa_balancing/scan_delay_ms");
KNOB_INT(numa_scan_period_min_ms, "numa.scan_period_min_ms", KNOB_POLICY, 1000, 1, 60000,
	 "run time of a thread between two scans, at least",
	 "sched_debug numa_balancing/scan_period_min_ms");
KNOB_INT(numa_scan_period_max_ms, "numa.scan_period_max_ms", KNOB_POLICY, 60000, 1, 600000,
	 "run time of a thread between two scans, at most",
	 "sched_debug numa_balancing/scan_period_max_ms");
enum { ADAPT_LOCAL, ADAPT_PRIVATE_LOCAL };
KNOB_ENUM(numa_scan_adapt, "numa.scan_adapt", KNOB_POLICY, ADAPT_PRIVATE_LOCAL,
	  "scans slow down if most faults are local, and speed up the less the more are shared; "
	  "or slow down as well if most are private",
	  "37ec97deb3a8 (4.14)", "local", "private_local");
KNOB_BOOL(numa_scan_reset, "numa.scan_reset", KNOB_POLICY, 0,
	  "a thread that went to its preferred node scans at the highest rate again",
	  "3f9672baaa70 (4.19)");
enum { GROUP_PAGES_ACTIVE_NODES, GROUP_PAGES_SPREAD };
KNOB_ENUM(numa_group_pages, "numa.group_pages", KNOB_POLICY, GROUP_PAGES_SPREAD,
	  "a group's page moves to its active nodes, and between them to where fewer are; or to where "
	  "more CPUs use the group's memory", "4142c3ebb685 (4.6)", "active_nodes", "spread");
KNOB_BOOL(numa_early_migrate, "numa.early_migrate", KNOB_POLICY, 1,
	  "in a thread's first four passes a page moves without looking at where it was used before",
	  "37355bdc5a12 (4.19)");
KNOB_INT(numa_ratelimit_mb, "numa.ratelimit_mb", KNOB_POLICY, 0, 0, 1 << 20,
	 "MiB that may move to a node in 100 ms; 0: any", "efaffc5e40ae (4.19)");

/* Of update_task_scan_period(). */
#define NUMA_PERIOD_SLOTS 10
#define NUMA_PERIOD_THRESHOLD 7
/* A node is active for a group if it has a third of the most faults of any. */
#define ACTIVE_NODE_FRACTION 3
/* MiB a second that a scan may mark at most; address space for each page of budget. */
#define MAX_SCAN_WINDOW 2560
#define VIRT_PAGES_RATIO 8
/* A move that failed is tried again so much later, ms. */
#define MIGRATE_RETRY_MS 1000
/* In which numa.ratelimit_mb may move, ms. */
#define RATELIMIT_WINDOW_MS 100

enum numa_kind { NUMA_MEM, NUMA_CPU, NUMA_MEMBUF, NUMA_CPUBUF, NR_NUMA_KINDS };
/* Of NUMA_MEM and NUMA_CPU a group has the sums. [kind][node][private] */
typedef u64 numa_stats[NR_NUMA_KINDS][TLBLAB_MAX_NODES][2];

/* Threads that write the same pages. */
struct numa_group {
	spinlock_t lock;
	atomic_t refcount;	/* shared: a reference for each thread */
	u32 gid;		/* const: tid of who made it */
	u32 nr_tasks;		/* shared; written under lock */
	u32 active_nodes __guarded_by(lock);
	u32 active_mask __guarded_by(lock); /* of nodes; numa.group_pages=active_nodes */
	/* Under lock, but for weight(), which looks at it from outside. */
	numa_stats faults __guarded_by(lock);
	struct rcu_head rcu;
};

/* The task itself, but for what says "shared". */
struct task_numa {
	u32 pid;		/* const */
	struct numa_group *group; /* shared: read under RCU by who may join */
	s32 preferred_nid;
	u32 scan_seq;
	u64 scan_period;	/* ms; the delay until it is known */
	u64 runtime, node_stamp; /* ms: run so far; when the last scan was due */
	u64 now;		/* ms: of the last tick */
	u64 migrate_retry;	/* ms */
	u64 locality[3];	/* faults of this pass: remote, local, not moved */
	numa_stats faults;
};

static u32 nr_nodes(void)
{
	return mach_env()->nr_nodes;
}

/* ---- cpupid: who faulted last, and where ---- */

static u32 cpu_pid_to_cpupid(u32 cpu, u32 pid)
{
	return (cpu + 1) << 8 | (pid & 0xff);
}

static s32 cpupid_to_nid(u32 cpupid)
{
	return (s32)mach_cpu_node((cpupid >> 8) - 1);
}

static bool cpupid_match_pid(const struct task_numa *tn, u32 cpupid)
{
	return (cpupid & 0xff) == (tn->pid & 0xff);
}

u32 page_cpupid_last(struct page *page)
{
	return READ_ONCE(page->cpupid);
}

static struct task_numa *task_numa(struct task_struct *p)
{
	struct task_numa *tn = READ_ONCE(p->numa);

	if (tn)
		return tn;
	tn = kzalloc(sizeof(*tn));
	tn->pid = mach_env()->tid;
	tn->preferred_nid = NUMA_NO_NODE;
	tn->scan_period = (u64)knob(numa_scan_delay_ms);
	/* Who reads it through core_cpu.curr must find it set up. */
	smp_store_release(&p->numa, tn);
	return tn;
}

/* ---- groups ---- */

static void free_group_rcu(struct rcu_head *head)
{
	struct numa_group *ng = container_of(head, struct numa_group, rcu);

	kfree(ng, sizeof(*ng));
}

static void put_numa_group(struct numa_group *ng)
{
	if (atomic_dec_and_test(&ng->refcount))
		call_rcu(&ng->rcu, free_group_rcu);
}

static void double_lock(struct numa_group *a, struct numa_group *b)
{
	/* By age, not by address: the same in every run. */
	if (a->gid > b->gid) {
		spin_lock(&b->lock);
		spin_lock(&a->lock);
	} else {
		spin_lock(&a->lock);
		spin_lock(&b->lock);
	}
}

/* What ng has counted of one kind on one node: shared, private. Under its lock. */
static u64 *group_faults(struct numa_group *ng, enum numa_kind kind, s32 nid)
{
	lockdep_assert_held(&ng->lock);
	return ng->faults[kind][nid];
}

static u64 group_both(struct numa_group *ng, enum numa_kind kind, s32 nid)
{
	const u64 *faults = group_faults(ng, kind, nid);

	return faults[0] + faults[1];
}

/* sign -1: what tn has counted is no longer of ng; under its lock. */
static void group_account(struct numa_group *ng, const struct task_numa *tn, s64 sign)
{
	for (u32 kind = NUMA_MEM; kind <= NUMA_CPU; kind++)
		for (u32 nid = 0; nid < nr_nodes(); nid++)
			for (u32 priv = 0; priv < 2; priv++)
				group_faults(ng, kind, (s32)nid)[priv] +=
					(u64)sign * tn->faults[kind][nid][priv];
	WRITE_ONCE(ng->nr_tasks, ng->nr_tasks + (u32)sign);
}

static struct numa_group *new_group(struct task_numa *tn)
{
	struct numa_group *ng = kzalloc(sizeof(*ng));

	atomic_set(&ng->refcount, 1);
	ng->gid = tn->pid;
	ng->active_nodes = 1;
	ng->active_mask = 1U << mach_cpu_node(smp_processor_id());
	/* Nobody knows of it yet: without the lock. */
	ng->nr_tasks = 1;
	memcpy(ng->faults[NUMA_MEM], tn->faults[NUMA_MEM], sizeof(tn->faults[NUMA_MEM]));
	memcpy(ng->faults[NUMA_CPU], tn->faults[NUMA_CPU], sizeof(tn->faults[NUMA_CPU]));
	smp_store_release(&tn->group, ng);
	return ng;
}

static void leave_group(struct task_numa *tn, struct numa_group *ng)
{
	spin_lock(&ng->lock);
	group_account(ng, tn, -1);
	spin_unlock(&ng->lock);
	put_numa_group(ng);
}

/*
 * The group of the thread that had the last fault, if it still runs where it was, and its
 * group is larger or, of the same size, older; with a reference. RCU.
 */
static struct numa_group *group_to_join(struct task_struct *p, struct numa_group *mine,
					u32 cpupid, u32 flags, bool *join)
{
	struct task_struct *tsk = READ_ONCE(kernel()->cpu[(cpupid >> 8) - 1].curr);
	struct task_numa *other = tsk ? READ_ONCE(tsk->numa) : NULL;
	struct numa_group *ng;

	if (!other || !cpupid_match_pid(other, cpupid))
		return NULL;
	ng = READ_ONCE(other->group);
	if (!ng || ng == mine || READ_ONCE(mine->nr_tasks) > READ_ONCE(ng->nr_tasks))
		return NULL;
	if (READ_ONCE(mine->nr_tasks) == READ_ONCE(ng->nr_tasks) && mine->gid < ng->gid)
		return NULL;
	/* Threads of a process; or of two that really share memory: pids may collide. */
	*join = READ_ONCE(tsk->mm) == p->mm || (flags & TNF_SHARED);
	return *join && atomic_inc_not_zero(&ng->refcount) ? ng : NULL;
}

/* Returns whether the fault was by chance, and counts as private. */
static bool task_numa_group(struct task_struct *p, struct task_numa *tn, u32 cpupid, u32 flags)
{
	struct numa_group *mine = tn->group, *ng;
	bool join = true;

	if (!mine)
		mine = new_group(tn);
	rcu_read_lock();
	ng = group_to_join(p, mine, cpupid, flags, &join);
	rcu_read_unlock();
	if (!ng)
		return !join;
	double_lock(mine, ng);
	group_account(mine, tn, -1);
	group_account(ng, tn, 1);
	spin_unlock(&mine->lock);
	spin_unlock(&ng->lock);
	smp_store_release(&tn->group, ng);
	put_numa_group(mine);
	count_vm_event(numa_groups_joined);
	return false;
}

void task_numa_free(struct task_struct *p)
{
	struct task_numa *tn = p->numa;

	if (tn && tn->group) {
		struct numa_group *ng = tn->group;

		WRITE_ONCE(tn->group, NULL);
		leave_group(tn, ng);
	}
}

void task_numa_free_rcu(struct task_struct *p)
{
	if (p->numa)
		kfree(p->numa, sizeof(*p->numa));
}

static u64 both(const numa_stats faults, enum numa_kind kind, s32 nid)
{
	return faults[kind][nid][0] + faults[kind][nid][1];
}

/* Under the group's lock. */
static u64 max_faults_cpu(struct numa_group *ng)
{
	u64 most = 0;

	for (u32 nid = 0; nid < nr_nodes(); nid++)
		most = max(most, group_both(ng, NUMA_CPU, (s32)nid));
	return most;
}

/*
 * To 4.5 a node became active with 6/16 of the most faults of any, and stayed it down to 3/16.
 * Under the group's lock.
 */
static void update_active_mask(struct numa_group *ng)
{
	u64 most = max_faults_cpu(ng);

	for (u32 nid = 0; nid < nr_nodes(); nid++) {
		u64 faults = group_both(ng, NUMA_CPU, (s32)nid);

		if (!(ng->active_mask & 1U << nid) && faults > most * 6 / 16)
			ng->active_mask |= 1U << nid;
		else if (faults < most * 3 / 16)
			ng->active_mask &= ~(1U << nid);
	}
}

static bool numa_is_active_node(struct numa_group *ng, s32 nid)
{
	lockdep_assert_held(&ng->lock);
	if (knob(numa_group_pages) == GROUP_PAGES_ACTIVE_NODES)
		return ng->active_mask & 1U << nid;
	return group_both(ng, NUMA_CPU, nid) * ACTIVE_NODE_FRACTION > max_faults_cpu(ng);
}

/* ---- which pages move ---- */

/* Into the active nodes; between two of them, to that with less memory by a quarter. */
static bool active_nodes_want(struct numa_group *ng, s32 src, s32 dst)
{
	if (!numa_is_active_node(ng, dst))
		return false;
	if (!numa_is_active_node(ng, src))
		return true;
	return group_both(ng, NUMA_MEM, dst) < group_both(ng, NUMA_MEM, src) * 3 / 4;
}

/*
 * To where the group's threads are, but spread over the nodes that they use: a node should have
 * as much of the memory as it has of the threads.
 */
static bool spread_wants(struct numa_group *ng, s32 src, s32 dst)
{
	u64 cpu_src = group_both(ng, NUMA_CPU, src);
	u64 cpu_dst = group_both(ng, NUMA_CPU, dst);

	return cpu_dst > cpu_src * ACTIVE_NODE_FRACTION ||
	       cpu_dst * group_both(ng, NUMA_MEM, src) * 3 >
	       cpu_src * group_both(ng, NUMA_MEM, dst) * 4;
}

/* Shared in a group. */
static bool group_wants(struct numa_group *ng, s32 src, s32 dst)
{
	bool ret;

	spin_lock(&ng->lock);
	ret = knob(numa_group_pages) == GROUP_PAGES_ACTIVE_NODES ?
		      active_nodes_want(ng, src, dst) : spread_wants(ng, src, dst);
	spin_unlock(&ng->lock);
	return ret;
}

bool should_numa_migrate_memory(struct page *page, s32 src_nid)
{
	struct task_numa *tn = task_numa(current);
	s32 dst_nid = (s32)mach_cpu_node(smp_processor_id());
	u32 last = xchg(&page->cpupid, cpu_pid_to_cpupid(smp_processor_id(), tn->pid));

	/* Early, first touch and private use decide at once. */
	if (knob(numa_early_migrate) &&
	    (tn->preferred_nid == NUMA_NO_NODE || tn->scan_seq <= 4) &&
	    (!last || cpupid_match_pid(tn, last)))
		return true;
	/* Twice running from this node: with one fault in n passes by chance, one in n * n. */
	if (last && cpupid_to_nid(last) != dst_nid)
		return false;
	if (last && cpupid_match_pid(tn, last))
		return true;
	if (!tn->group)
		return true;
	return group_wants(tn->group, src_nid, dst_nid);
}

/*
 * Linux's windows are each node's own as well; there as here their reset races with who counts,
 * which lets at most a few pages more through.
 */
bool numa_ratelimited(s32 nid, u64 pages)
{
	struct numa_window *win = &kernel()->numa_window[nid];
	u64 now = task_numa(current)->now, moved;

	if (!knob(numa_ratelimit_mb))
		return false;
	if (now > READ_ONCE(win->end_ms)) {
		WRITE_ONCE(win->end_ms, now + RATELIMIT_WINDOW_MS);
		WRITE_ONCE(win->pages, 0);
	}
	moved = READ_ONCE(win->pages);
	if (moved > (u64)knob(numa_ratelimit_mb) << 20 >> PAGE_SHIFT) {
		count_vm_events(numa_ratelimited, pages);
		return true;
	}
	WRITE_ONCE(win->pages, moved + pages);
	return false;
}

/* ---- how fast to scan ---- */

/*
 * Scans that it takes to get round: the more memory, the shorter the period. Of the mm's size
 * its tables tell: each maps 2 MiB at most, or is set aside for a huge page.
 */
static u64 nr_scan_windows(struct mm_struct *mm)
{
	u64 tables = (u64)atomic_long_read(&mm->pgtables_bytes) >> PAGE_SHIFT;
	u64 size = (u64)knob(numa_scan_size_mb) << 20;

	return max((tables * PMD_SIZE + size - 1) / size, 1UL);
}

static u64 task_scan_min(struct mm_struct *mm)
{
	u64 windows = max(MAX_SCAN_WINDOW / (u64)knob(numa_scan_size_mb), 1UL);

	return max((u64)knob(numa_scan_period_min_ms) / nr_scan_windows(mm), 1000 / windows);
}

static u64 task_scan_max(struct mm_struct *mm)
{
	return max((u64)knob(numa_scan_period_max_ms) / nr_scan_windows(mm), task_scan_min(mm));
}

/* How the period changes, in slots, by what share of the faults was private and local. */
static s64 period_slots(u64 private, u64 shared, u64 local, u64 remote)
{
	s64 ps = (s64)(private * NUMA_PERIOD_SLOTS / (private + shared));
	s64 lr = (s64)(local * NUMA_PERIOD_SLOTS / (local + remote));

	/* Settled: slower. */
	if (ps >= NUMA_PERIOD_THRESHOLD)
		return max(ps - NUMA_PERIOD_THRESHOLD, (s64)1);
	if (lr >= NUMA_PERIOD_THRESHOLD)
		return max(lr - NUMA_PERIOD_THRESHOLD, (s64)1);
	return max(lr, ps) - NUMA_PERIOD_THRESHOLD;
}

/*
 * To 4.13: of what local faults alone would ask for, speeding up is for private pages only; what
 * is shared would bounce.
 */
static s64 period_change_local(s64 slot, u64 private, u64 shared, u64 local, u64 remote)
{
	s64 lr = (s64)(local * NUMA_PERIOD_SLOTS / (local + remote)), ps;

	if (lr >= NUMA_PERIOD_THRESHOLD)
		return max(lr - NUMA_PERIOD_THRESHOLD, (s64)1) * slot;
	ps = (s64)((private * NUMA_PERIOD_SLOTS + private + shared) / (private + shared + 1));
	return (lr - NUMA_PERIOD_THRESHOLD) * slot * ps / NUMA_PERIOD_SLOTS;
}

static void update_task_scan_period(struct task_numa *tn, struct mm_struct *mm, u64 shared,
				    u64 private)
{
	u64 remote = tn->locality[0], local = tn->locality[1];
	s64 period = (s64)tn->scan_period;
	s64 slot = (period + NUMA_PERIOD_SLOTS - 1) / NUMA_PERIOD_SLOTS;

	if (local + shared == 0 || tn->locality[2]) {
		tn->scan_period = min(task_scan_max(mm), tn->scan_period * 2);
		WRITE_ONCE(mm->numa_next_scan, tn->now + tn->scan_period);
	} else if (private + shared && local + remote) {
		period += knob(numa_scan_adapt) == ADAPT_LOCAL ?
				  period_change_local(slot, private, shared, local, remote) :
				  period_slots(private, shared, local, remote) * slot;
		tn->scan_period = (u64)min(max(period, (s64)task_scan_min(mm)),
					   (s64)task_scan_max(mm));
	}
	memset(tn->locality, 0, sizeof(tn->locality));
}

/* ---- where threads run ---- */

/* Thousandths of a task's or its group's faults that are on nid: what it gains there. */
static s64 weight(struct task_numa *tn, s32 nid)
{
	struct numa_group *ng = READ_ONCE(tn->group);
	u64 total = 0, faults;

	for (u32 n = 0; n < nr_nodes(); n++)
		total += both(ng ? ng->faults : tn->faults, NUMA_MEM, (s32)n);
	faults = both(ng ? ng->faults : tn->faults, NUMA_MEM, nid);
	return total ? (s64)(1000 * faults / total) : 0;
}

/*
 * What both together gain if tn goes to cpu, on node dst, and who runs there comes to src;
 * negative: not to be done. RCU: groups of others.
 */
static s64 task_numa_compare(struct task_numa *tn, u32 cpu, s32 src, s32 dst, bool *swap)
{
	struct task_struct *cur = READ_ONCE(kernel()->cpu[cpu].curr);
	s64 gain = weight(tn, dst) - weight(tn, src);
	struct task_numa *other;

	*swap = false;
	if (!cur || cur->idle)
		return gain;
	*swap = true;
	other = READ_ONCE(cur->numa);
	/* One that nothing is known of may come; one of the same group gains nothing by it. */
	if (!other)
		return gain - 1;
	if (READ_ONCE(tn->group) && READ_ONCE(tn->group) == READ_ONCE(other->group))
		return -1;
	if (READ_ONCE(other->preferred_nid) == dst)
		return -1;
	return gain + weight(other, src) - weight(other, dst);
}

/* CPUs of a node that run somebody. */
static u32 node_running(s32 nid)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct task_struct *curr = READ_ONCE(kernel()->cpu[cpu].curr);

		if ((s32)mach_cpu_node(cpu) == nid && curr && !curr->idle)
			n++;
	}
	return n;
}

/*
 * To the CPU of the preferred node where it helps most: in exchange for another thread, or to
 * an idle one, if that does not make this node busier than the one left.
 */
static void task_numa_migrate(struct task_numa *tn, s32 src)
{
	s64 best = 0;
	s32 best_cpu = -1;
	bool best_swap = false, balanced = node_running(tn->preferred_nid) < node_running(src);

	rcu_read_lock();
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		bool swap;
		s64 gain;

		if ((s32)mach_cpu_node(cpu) != tn->preferred_nid)
			continue;
		gain = task_numa_compare(tn, cpu, src, tn->preferred_nid, &swap);
		if (gain > best && (swap || balanced)) {
			best = gain;
			best_cpu = (s32)cpu;
			best_swap = swap;
		}
	}
	rcu_read_unlock();
	if (best_cpu < 0)
		return;
	if (knob(numa_scan_reset))
		tn->scan_period = task_scan_min(current->mm);
	if (best_swap)
		count_vm_event(numa_task_swapped);
	else
		count_vm_event(numa_task_migrated);
	mach_migrate_thread((u32)best_cpu);
}

/*
 * A new thread: to the node with the most idle CPUs, as select_task_rq_fair() does at fork.
 * Without NUMA balancing the machine places threads, close together.
 */
void task_numa_fork(void)
{
	u32 idle[TLBLAB_MAX_NODES] = { 0 }, first[TLBLAB_MAX_NODES];
	u32 here = mach_cpu_node(smp_processor_id()), best = here;

	if (!numa_balancing())
		return;
	for (u32 cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct task_struct *curr = READ_ONCE(kernel()->cpu[cpu].curr);
		u32 nid = mach_cpu_node(cpu);

		if (curr && !curr->idle)
			continue;
		if (!idle[nid]++)
			first[nid] = cpu;
	}
	for (u32 nid = 0; nid < nr_nodes(); nid++)
		if (idle[nid] > idle[best] + (best == here))
			best = nid;
	if (best != here)
		mach_migrate_thread(first[best]);
}

static void numa_migrate_preferred(struct task_numa *tn)
{
	s32 nid = (s32)mach_cpu_node(smp_processor_id());

	if (tn->preferred_nid == NUMA_NO_NODE)
		return;
	tn->migrate_retry = tn->now + min((u64)MIGRATE_RETRY_MS, tn->scan_period / 16);
	if (tn->preferred_nid != nid)
		task_numa_migrate(tn, nid);
}

/* One node's buffers become part of the averages; with the group's lock, if there is one. */
static void fold_node(struct task_numa *tn, struct numa_group *ng, s32 nid, u64 total,
		      u64 types[2])
{
	for (u32 priv = 0; priv < 2; priv++) {
		u64 *mem = &tn->faults[NUMA_MEM][nid][priv];
		u64 *cpu = &tn->faults[NUMA_CPU][nid][priv];
		u64 *membuf = &tn->faults[NUMA_MEMBUF][nid][priv];
		u64 *cpubuf = &tn->faults[NUMA_CPUBUF][nid][priv];
		/* By how much of all faults, not by how many: a busy thread counts as one. */
		u64 weight = (*cpubuf << 16) / (total + 1);
		u64 diff = *membuf - *mem / 2, cpu_diff = weight - *cpu / 2;

		types[priv] += *membuf;
		*membuf = 0;
		*cpubuf = 0;
		*mem += diff;
		*cpu += cpu_diff;
		if (ng) {
			group_faults(ng, NUMA_MEM, nid)[priv] += diff;
			group_faults(ng, NUMA_CPU, nid)[priv] += cpu_diff;
		}
	}
}

/* After each pass of the scan over the mm. */
static void task_numa_placement(struct task_struct *p, struct task_numa *tn)
{
	u32 seq = READ_ONCE(p->mm->numa_scan_seq);
	struct numa_group *ng = tn->group;
	u64 total = tn->locality[0] + tn->locality[1], types[2] = { 0, 0 }, most = 0;
	s32 best = NUMA_NO_NODE;

	if (tn->scan_seq == seq)
		return;
	tn->scan_seq = seq;
	if (ng)
		spin_lock(&ng->lock);
	for (u32 nid = 0; nid < nr_nodes(); nid++) {
		u64 faults;

		fold_node(tn, ng, (s32)nid, total, types);
		faults = ng ? group_both(ng, NUMA_MEM, (s32)nid) :
			      both(tn->faults, NUMA_MEM, (s32)nid);
		if (faults > most) {
			most = faults;
			best = (s32)nid;
		}
	}
	if (ng) {
		update_active_mask(ng);
		ng->active_nodes = 0;
		for (u32 nid = 0; nid < nr_nodes(); nid++)
			ng->active_nodes += numa_is_active_node(ng, (s32)nid);
		spin_unlock(&ng->lock);
	}
	if (most)
		WRITE_ONCE(tn->preferred_nid, best);
	update_task_scan_period(tn, p->mm, types[0], types[1]);
}

/* ---- the fault ---- */

/* A shared page on one active node of a group, used from another: as local as it can be. */
static bool local_enough(struct numa_group *ng, s32 cpu_node, s32 mem_node)
{
	bool ret;

	spin_lock(&ng->lock);
	ret = numa_is_active_node(ng, cpu_node) && numa_is_active_node(ng, mem_node) &&
	      (ng->active_nodes > 1 || knob(numa_group_pages) == GROUP_PAGES_ACTIVE_NODES);
	spin_unlock(&ng->lock);
	return ret;
}

void task_numa_fault(u32 last_cpupid, s32 mem_node, u64 pages, u32 flags)
{
	struct task_struct *p = current;
	struct task_numa *tn = task_numa(p);
	s32 cpu_node = (s32)mach_cpu_node(smp_processor_id());
	bool local = flags & TNF_FAULT_LOCAL;
	bool priv = !last_cpupid || cpupid_match_pid(tn, last_cpupid);

	if (!priv && !(flags & TNF_NO_GROUP))
		priv = task_numa_group(p, tn, last_cpupid, flags);
	if (!priv && !local && tn->group && local_enough(tn->group, cpu_node, mem_node))
		local = true;
	if (flags & TNF_MIGRATE_FAIL)
		tn->locality[2] += pages;
	tn->faults[NUMA_MEMBUF][mem_node][priv] += pages;
	tn->faults[NUMA_CPUBUF][cpu_node][priv] += pages;
	tn->locality[local] += pages;
	if (tn->now > tn->migrate_retry) {
		task_numa_placement(p, tn);
		numa_migrate_preferred(tn);
	}
}

/* ---- the scan ---- */

static bool vma_scannable(const struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_HUGETLB | VM_MIXEDMAP | VM_PFNMAP))
		return false;
	/* Libraries: each node's caches have them. */
	if (vma->vm_file && (vma->vm_flags & (VM_READ | VM_WRITE)) == VM_READ)
		return false;
	/* Or its entries could not be told from marks. */
	return vma->vm_flags & (VM_READ | VM_WRITE | VM_EXEC);
}

/* Marks from offset on until the budget is spent. Returns where to go on; 0: at the end. */
static u64 scan_from(struct mm_struct *mm, u64 offset)
{
	s64 pages = (s64)((u64)knob(numa_scan_size_mb) << 20 >> PAGE_SHIFT);
	s64 virtpages = pages * VIRT_PAGES_RATIO;
	struct vm_area_struct *vma;

	for (; (vma = find_vma(mm, offset)); offset = vma->vm_end) {
		u64 start = max(offset, vma->vm_start);

		if (!vma_scannable(vma))
			continue;
		while (start < vma->vm_end) {
			u64 end = round_up(start + ((u64)pages << PAGE_SHIFT), HPAGE_PMD_SIZE);
			s64 nr;

			end = min(end, vma->vm_end);
			nr = (s64)((end - start) >> PAGE_SHIFT);
			if (change_prot_numa(vma, start, end))
				pages -= nr;
			virtpages -= nr;
			start = end;
			if (pages <= 0 || virtpages <= 0)
				return start;
			cond_resched();
		}
	}
	return 0;
}

static void task_numa_work(struct task_struct *p, struct task_numa *tn)
{
	struct mm_struct *mm = p->mm;
	u64 next = READ_ONCE(mm->numa_next_scan), offset;

	if (!next) {
		WRITE_ONCE(mm->numa_next_scan, tn->now + (u64)knob(numa_scan_delay_ms));
		return;
	}
	/* One of its threads does it. */
	if (tn->now < next || cmpxchg(&mm->numa_next_scan, next,
				      tn->now + tn->scan_period) != next)
		return;
	if (!mmap_read_trylock(mm))
		return;
	offset = READ_ONCE(mm->numa_scan_offset);
	if (!find_vma(mm, offset)) {
		WRITE_ONCE(mm->numa_scan_seq, READ_ONCE(mm->numa_scan_seq) + 1);
		offset = 0;
	}
	offset = scan_from(mm, offset);
	if (!offset)
		WRITE_ONCE(mm->numa_scan_seq, READ_ONCE(mm->numa_scan_seq) + 1);
	WRITE_ONCE(mm->numa_scan_offset, offset);
	mmap_read_unlock(mm);
}

void task_tick_numa(u64 now_ms, u64 ran_ms)
{
	struct task_struct *p = current;
	struct task_numa *tn = task_numa(p);
	u64 period = tn->scan_period;

	tn->now = now_ms;
	tn->runtime += ran_ms;
	if (tn->runtime <= tn->node_stamp + period)
		return;
	/* Before, the mm may still have been small. */
	if (!tn->node_stamp)
		tn->scan_period = task_scan_min(p->mm);
	tn->node_stamp += period;
	if (now_ms >= READ_ONCE(p->mm->numa_next_scan))
		task_numa_work(p, tn);
}
