/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenarios/madvise-toucher.tlb as somebody would write it for SPIN: by hand, with one
 * page, one entry, a TLB entry for each of two CPUs and an IPI. There is no kernel in it:
 * faults, locks, the gather and the mask of CPUs are a line each, or not there.
 *
 * The property is the scenario's: a page that was given back is read by nobody.
 */
bool present = true;		/* the entry, and the frame it leads to */
byte frame = 1;
bool freed[4];
bool tlb[2];			/* a CPU's translation, and to where */
byte to[2];
bool lock;			/* of the page table */
bool ipi, done;

inline take()	{ atomic { !lock -> lock = true } }
inline give()	{ lock = false }

/* An interrupt may come before any step of user mode. */
inline interrupt(c)
{
	if
	:: ipi -> tlb[c] = false; ipi = false; done = true
	:: else -> skip
	fi
}

inline fault(c)
{
	take();
	if
	:: !present -> frame = frame + 1; present = true
	:: else -> skip
	fi;
	give()
}

inline translate(c)
{
	do
	:: tlb[c] -> break
	:: else ->
		if
		:: atomic { present -> tlb[c] = true; to[c] = frame }
		:: !present -> fault(c)
		fi
	od
}

proctype zapper()
{
	byte old;

	take();
	old = frame;
	present = false;
	give();
	tlb[0] = false;
	ipi = true;
	done;
	freed[old] = true;
	/* load(A) */
	translate(0);
	assert(!freed[to[0]])
}

proctype toucher()
{
	byte n = 0;

	do
	:: n < 2 ->
		interrupt(1);
		translate(1);
		atomic { assert(!freed[to[1]]); n++ }
	:: else -> break
	od;
	/* Idle; interrupts go on. */
end:	do
	:: ipi -> interrupt(1)
	od
}

init {
	tlb[1] = true;
	to[1] = 1;
	atomic { run zapper(); run toucher() }
}
