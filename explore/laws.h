/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The weak model's laws, each of which a test can leave out or change, to see that it is
 * needed (docs/litmus.md). Not a feature for users: with one of these
 * off the machine is wrong, on purpose. One per line: name for the code, name for
 * people, what becomes of the model.
 */
#ifndef TLBLAB_EXPLORE_LAWS_H
#define TLBLAB_EXPLORE_LAWS_H

#define XLAWS(X)                                                                  \
	X(FRESH, "fresh", "a fault on an entry that is not valid may be cached")         \
	X(FRESH_ALL, "fresh-all", "no entry is used that was overwritten before the walk") \
	X(FRESH_PERMISSION, "fresh-permission", "permission faults are not cached")      \
	X(TLBI_WALK, "tlbi-walk", "an invalidation does not bar later walks")            \
	X(TLBI_ACCESS, "tlbi-access", "nor accesses of other CPUs that come after it")   \
	X(STORE_VIEW, "store-view", "a store counts as done when its walk is")           \
	X(OFFSET, "offset", "earlier accesses at the offset do not matter")              \
	X(OFFSET_FAULT, "offset-fault", "they matter for faults too")                    \
	X(OWN_ACCESS, "own-access", "the issuing CPU's accesses are barred like others'") \
	X(STALE, "stale", "nothing overwritten is used")                                 \
	X(DSB_ISB, "dsb-isb", "an ISB does not order walks after an earlier DSB")        \
	X(DSB_WALK, "dsb-walk", "a DSB orders later walks by itself")                    \
	X(WALK_READ, "walk-read", "a load is not after its walk")                        \
	X(WALK_ISB, "walk-isb", "an ISB is not after earlier walks")                     \
	X(ADDR_WALK, "addr-walk", "a walk is not after what its address came from")      \
	X(DMB_FAULT, "dmb-fault", "a DMB does not order later faults")                   \
	X(DMB_ST_FAULT, "dmb-st-fault", "a DMB ST does not order later faults")          \
	X(ACQUIRE_FAULT, "acquire-fault", "an acquire does not order later faults")      \
	X(SWPAL, "swpal", "what follows an acquiring and releasing swap is not after its write") \
	X(RELEASE_ACQUIRE, "release-acquire", "an acquire is not after an earlier release") \
	X(TLBI_CTRL, "tlbi-ctrl", "a TLBI is not after branches")                        \
	X(TLBI_OPERAND, "tlbi-operand", "a TLBI is not after what its operand came from") \
	X(TLBI_NOW, "tlbi-now", "a TLBI drops all that was overwritten before it")       \
	X(TLBI_AT_ONCE, "tlbi-at-once", "a TLBI is complete without a DSB")              \
	X(UPDATE_ATOMIC, "update-atomic", "hardware updates overwrite what came between") \
	X(DSB_DEFERRED, "dsb-deferred", "a DSB does not wait for deferred updates")      \
	X(DSB_UPDATE, "dsb-update", "what follows a DSB is not after hardware updates")  \
	X(DEFERRED, "deferred", "updates are not made later than the access")            \
	X(EARLY, "early", "updates are not made before the access")                      \
	X(EARLY_BOUND, "early-bound", "an early update may come before what its access depends on") \
	X(SPONTANEOUS, "spontaneous", "the access flag is not set without an access")    \
	X(PICK, "pick", "a conditional select hands on only what it selected")           \
	X(FORWARD, "forward", "a load does not take its own CPU's store early")          \
	X(CTRL_ISB, "ctrl-isb", "an ISB is not after branches")                          \
	X(ADDR_ISB, "addr-isb", "an ISB is not after what addresses came from")          \
	X(DMB_TLBI, "dmb-tlbi", "a DMB orders later TLBIs")                              \
	X(LOCAL, "local", "a local TLBI reaches every CPU")

enum xlaw {
#define X(id, name, what) XLAW_##id,
	XLAWS(X)
#undef X
	XLAW_NR,
};

#endif
