/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mm/rmap.h"

KNOB_ENUM(mm_fault_lock, "mm.fault_lock", KNOB_POLICY, FAULT_LOCK_VMA,
	  "what a page fault locks first: its VMA or the whole mm",
	  "5e31275cc997 (6.4)", "vma", "mmap");

/* mm->areas points to v. */
struct vma_array {
	struct rcu_head rcu;
	u32 size;
	struct vm_area_struct *v[];
};

#define VMA_ARRAY_MIN 32

static inline struct vma_array *vma_array(struct vm_area_struct **areas)
{
	return (struct vma_array *)((char *)areas - offsetof(struct vma_array, v));
}

static inline size_t vma_array_bytes(u32 size)
{
	return sizeof(struct vma_array) + size * sizeof(struct vm_area_struct *);
}

static void vma_array_free_rcu(struct rcu_head *head)
{
	struct vma_array *a = container_of(head, struct vma_array, rcu);

	kfree(a, vma_array_bytes(a->size));
}

void vma_array_free(struct mm_struct *mm)
{
	if (mm->areas)
		call_rcu(&vma_array(mm->areas)->rcu, vma_array_free_rcu);
	mm->areas = NULL;
}

/* ---- finding ---- */

u32 vma_index(struct mm_struct *mm, u64 addr)
{
	u32 lo = 0, hi = mm->map_count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (mm->areas[mid]->vm_end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct vm_area_struct *find_vma(struct mm_struct *mm, u64 addr)
{
	u32 i;

	mach_charge(VMA_FIND, 1);
	i = vma_index(mm, addr);
	return i < mm->map_count ? mm->areas[i] : NULL;
}

/*
 * Without the mmap_lock: areas may move and change while we look. What we find
 * is a VMA that is or was there (grace periods see to that), or nothing.
 * Whether it is the right one is decided once it is locked; then it stays as it
 * is. So areas_seq saves locking a wrong one, and no more.
 */
static struct vm_area_struct *find_vma_rcu(struct mm_struct *mm, u64 addr)
{
	u32 seq = smp_load_acquire(&mm->areas_seq);
	struct vm_area_struct **areas = READ_ONCE(mm->areas), *vma = NULL;
	u32 lo = 0, hi;

	if (!areas || (seq & 1))
		return NULL;
	/* The count may be that of a bigger array than this one. */
	hi = min(READ_ONCE(mm->map_count), vma_array(areas)->size);
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		struct vm_area_struct *v = READ_ONCE(areas[mid]);

		if (!v)
			return NULL;
		if (v->vm_end > addr) {
			vma = v;
			hi = mid;
		} else {
			lo = mid + 1;
		}
	}
	/* They belong together, and no pointer was moved. */
	smp_rmb();
	return READ_ONCE(mm->areas_seq) == seq ? vma : NULL;
}

struct vm_area_struct *lock_vma_under_rcu(struct mm_struct *mm, u64 addr)
{
	struct vm_area_struct *vma;

	mach_charge(VMA_FIND, 1);
	rcu_read_lock();
	vma = find_vma_rcu(mm, addr);
	if (vma && !vma_start_read(vma))
		vma = NULL;
	/*
	 * Unmapped, split or moved before we had the lock. One that is detached
	 * is ours to look at only as long as RCU keeps it: munmap waited for
	 * the readers it found, and we came after.
	 */
	if (vma && (vma->detached || addr < vma->vm_start ||
		    addr >= vma->vm_end)) {
		vma_end_read(vma);
		vma = NULL;
	}
	rcu_read_unlock();
	return vma;
}

/* ---- changing ---- */

/* The barrier also puts what a new VMA is before the pointer to it, which has none of its own. */
static void areas_begin(struct mm_struct *mm)
{
	if (!per_vma_locks())
		return;
	WRITE_ONCE(mm->areas_seq, READ_ONCE(mm->areas_seq) + 1);
	smp_wmb();
}

static void areas_end(struct mm_struct *mm)
{
	if (per_vma_locks())
		smp_store_release(&mm->areas_seq, READ_ONCE(mm->areas_seq) + 1);
}

/* Room for one more; inside areas_begin(). */
static void areas_grow(struct mm_struct *mm)
{
	u32 size = mm->areas_size ? mm->areas_size * 2 : VMA_ARRAY_MIN;
	struct vma_array *a;

	if (mm->map_count < mm->areas_size)
		return;
	a = kzalloc(vma_array_bytes(size));
	a->size = size;
	if (mm->areas) {
		memcpy(a->v, mm->areas, mm->map_count * sizeof(a->v[0]));
		call_rcu(&vma_array(mm->areas)->rcu, vma_array_free_rcu);
	}
	smp_wmb();
	WRITE_ONCE(mm->areas, a->v);
	mm->areas_size = size;
}

static void areas_insert(struct mm_struct *mm, u32 i, struct vm_area_struct *vma)
{
	areas_begin(mm);
	areas_grow(mm);
	memmove(&mm->areas[i + 1], &mm->areas[i],
		(mm->map_count - i) * sizeof(mm->areas[0]));
	mm->areas[i] = vma;
	mm->map_count++;
	areas_end(mm);
}

struct vm_area_struct *vm_area_alloc(struct mm_struct *mm)
{
	struct vm_area_struct *vma = kzalloc(sizeof(*vma));

	vma->vm_mm = mm;
	if (per_vma_locks()) {
		init_rwsem(&vma->vm_lock);
		/* Not locked: differs from the mm's. */
		WRITE_ONCE(vma->vm_lock_seq, READ_ONCE(mm->mm_lock_seq) - 1);
	}
	return vma;
}

static void vm_area_free_rcu(struct rcu_head *head)
{
	struct vm_area_struct *vma =
		container_of(head, struct vm_area_struct, vm_rcu);

	if (vma->anon_vma)
		anon_vma_free(vma->anon_vma);
	kfree(vma, sizeof(*vma));
}

void vm_area_free(struct vm_area_struct *vma)
{
	/* The last one takes its anon_vma with it, after the same grace period. */
	if (vma->anon_vma && !atomic_dec_and_test(&vma->anon_vma->refcount))
		vma->anon_vma = NULL;
	if (per_vma_locks() || vma->anon_vma)
		call_rcu(&vma->vm_rcu, vm_area_free_rcu);
	else
		kfree(vma, sizeof(*vma));
}

void remove_vma(struct vm_area_struct *vma)
{
	mach_charge(VMA_REMOVE, 1);
	if (vma->vm_file)
		fput(vma->vm_file);
	vm_area_free(vma);
}

void vma_link(struct mm_struct *mm, struct vm_area_struct *vma)
{
	/* Nobody may fault on it before the caller lets the mmap_lock go. */
	vma_start_write(vma);
	areas_insert(mm, vma_index(mm, vma->vm_start), vma);
}

/* No huge page may lie across the border of two VMAs. */
static void split_huge_pmd_across(struct vm_area_struct *vma, u64 addr)
{
	pmd_t *pmdp;
	pmd_t pmd;

	if (!(addr & ~HPAGE_PMD_MASK) || !vma_is_anonymous(vma) ||
	    !has_transparent_hugepage())
		return;
	pmdp = mm_find_pmd(vma->vm_mm, addr);
	if (!pmdp)
		return;
	pmd = pmdp_get(pmdp);
	if (!pmd_none(pmd) && pmd_trans_huge(pmd))
		split_huge_pmd(vma, pmdp, addr);
}

int split_vma(struct mm_struct *mm, struct vm_area_struct *vma, u64 addr)
{
	struct vm_area_struct *new = vm_area_alloc(mm);

	vma_start_write(vma);
	split_huge_pmd_across(vma, addr);
	vma_start_write(new);
	new->vm_start = addr;
	new->vm_end = vma->vm_end;
	new->vm_flags = vma->vm_flags;
	new->vm_page_prot = vma->vm_page_prot;
	new->vm_pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	new->vm_file = vma->vm_file;
	if (new->vm_file)
		get_file(new->vm_file);
	areas_insert(mm, vma_index(mm, vma->vm_start) + 1, new);
	vma_rmap_split(vma, new, addr);
	return 0;
}

int split_vma_range(struct mm_struct *mm, struct vm_area_struct **vma, u64 start, u64 end)
{
	int err;

	if ((*vma)->vm_start < start) {
		err = split_vma(mm, *vma, start);
		if (err)
			return err;
		*vma = mm->areas[vma_index(mm, start)];
	}
	return (*vma)->vm_end > end ? split_vma(mm, *vma, end) : 0;
}

void vma_detach(struct mm_struct *mm, u32 i, u32 n, struct vm_area_struct **out)
{
	for (u32 k = 0; k < n; k++) {
		out[k] = mm->areas[i + k];
		vma_start_write(out[k]);
		out[k]->detached = true;
	}
	areas_begin(mm);
	memmove(&mm->areas[i], &mm->areas[i + n],
		(mm->map_count - i - n) * sizeof(mm->areas[0]));
	mm->map_count -= n;
	/*
	 * No slot beyond the count keeps a VMA that will be freed. Else, on a machine whose
	 * stores overtake each other:
	 *
	 *	find_vma_rcu()			areas_insert(), long after
	 *					  areas[count] = vma (not visible yet)
	 *					  map_count++
	 *	reads the new map_count
	 *	reads areas[count - 1]: a VMA
	 *	whose grace period is over
	 */
	memset(&mm->areas[mm->map_count], 0, n * sizeof(mm->areas[0]));
	areas_end(mm);
}

static u64 vma_end_pgoff(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff + ((vma->vm_end - vma->vm_start) >> PAGE_SHIFT);
}

/* Pages of both must find the way to one VMA. */
static bool anon_vma_compatible(const struct vm_area_struct *a, const struct vm_area_struct *b)
{
	return !a->anon_vma || !b->anon_vma || a->anon_vma == b->anon_vma;
}

static bool mergeable(const struct vm_area_struct *vma, u64 vm_flags)
{
	return vma_is_anonymous(vma) && vma->vm_flags == vm_flags;
}

bool vma_merge_anon(struct mm_struct *mm, u64 start, u64 end, u64 vm_flags)
{
	u32 i = vma_index(mm, start);
	struct vm_area_struct *prev = i ? mm->areas[i - 1] : NULL;
	struct vm_area_struct *next = i < mm->map_count ? mm->areas[i] : NULL;
	bool with_prev = prev && prev->vm_end == start && mergeable(prev, vm_flags) &&
			 vma_end_pgoff(prev) == start >> PAGE_SHIFT;
	bool with_next = next && next->vm_start == end && mergeable(next, vm_flags) &&
			 next->vm_pgoff == end >> PAGE_SHIFT;
	struct rmap_lock *lock;

	if (with_prev) {
		vma_start_write(prev);
		prev->vm_end = end;
		if (with_next && anon_vma_compatible(prev, next)) {
			vma_detach(mm, i, 1, &next);
			vma_rmap_merge(prev, next);
			vm_area_free(next);
		}
	} else if (with_next) {
		vma_start_write(next);
		lock = take_rmap_lock(next);
		next->vm_start = start;
		next->vm_pgoff = start >> PAGE_SHIFT;
		drop_rmap_lock(lock);
	}
	return with_prev || with_next;
}

static bool can_merge(const struct vm_area_struct *prev,
		      const struct vm_area_struct *next)
{
	return prev->vm_end == next->vm_start && prev->vm_flags == next->vm_flags &&
	       prev->vm_file == next->vm_file && vma_end_pgoff(prev) == next->vm_pgoff &&
	       (prev->vm_file || anon_vma_compatible(prev, next));
}

void vma_merge_range(struct mm_struct *mm, u64 start, u64 end)
{
	u32 i = vma_index(mm, start);

	if (i)
		i--;
	while (i + 1 < mm->map_count && mm->areas[i + 1]->vm_start <= end) {
		struct vm_area_struct *prev = mm->areas[i];
		struct vm_area_struct *next = mm->areas[i + 1];

		if (!can_merge(prev, next)) {
			i++;
			continue;
		}
		vma_start_write(prev);
		vma_detach(mm, i + 1, 1, &next);
		vma_rmap_merge(prev, next);
		/* Never the last: prev maps it too. */
		if (next->vm_file)
			fput(next->vm_file);
		vm_area_free(next);
	}
}
