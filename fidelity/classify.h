/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instruction is it? A pure function from an instruction's bytes, as they
 * lie in the guest's memory, to the kind that a count is kept of, or to a marker.
 * The plugin asks it once per translated instruction; tests ask it without QEMU.
 *
 * Kinds are named as tlblab's flush.KIND metrics are. What the encoding alone does
 * not tell is not told: operands are in registers, so an ASID, a range or CR3's
 * no-flush bit stay unknown, and `cr3` here is every write to CR3.
 *
 * Instructions of the same group that no table asks about are counted too, under
 * a name of their own or under *_other, so that a kernel that starts to use them
 * cannot pass unseen.
 */
#ifndef FIDELITY_CLASSIFY_H
#define FIDELITY_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

enum guest_arch { GUEST_X86, GUEST_ARM64, GUEST_POWERPC, GUEST_NR_ARCHS };

/* One line per kind: identifier, name in tables. */
#define INSN_KINDS(X)                                                           \
	/* x86: SDM vol. 2A/2B. Every CR3 write, every CR4 write. */            \
	X(INVLPG, invlpg)                                                       \
	X(INVPCID, invpcid)                                                     \
	X(CR3, cr3)                                                             \
	X(CR4, cr4)                                                             \
	X(INVLPGB, invlpgb)                                                     \
	X(X86_TLBSYNC, tlbsync)                                                 \
	/* arm64: Arm ARM C5.5. */                                              \
	X(VMALLE1IS, tlbi_vmalle1is)                                            \
	X(VAE1IS, tlbi_vae1is)                                                  \
	X(ASIDE1IS, tlbi_aside1is)                                              \
	X(VAAE1IS, tlbi_vaae1is)                                                \
	X(VALE1IS, tlbi_vale1is)                                                \
	X(VAALE1IS, tlbi_vaale1is)                                              \
	X(RVAE1IS, tlbi_rvae1is)                                                \
	X(RVAAE1IS, tlbi_rvaae1is)                                              \
	X(RVALE1IS, tlbi_rvale1is)                                              \
	X(RVAALE1IS, tlbi_rvaale1is)                                            \
	X(VMALLE1, tlbi_vmalle1)                                                \
	X(VAE1, tlbi_vae1)                                                      \
	X(ASIDE1, tlbi_aside1)                                                  \
	X(VAAE1, tlbi_vaae1)                                                    \
	X(VALE1, tlbi_vale1)                                                    \
	X(VAALE1, tlbi_vaale1)                                                  \
	X(TLBI_OTHER, tlbi_other) /* outer shareable, local range, EL2, EL3 */  \
	/* barrier.h leaves those of flushes here, moves others to *_else. */   \
	X(DSB_ISH, dsb_ish)                                                     \
	X(DSB_ISHST, dsb_ishst)                                                 \
	X(DSB_NSH, dsb_nsh)                                                     \
	X(DSB_NSHST, dsb_nshst)                                                 \
	X(DSB_ISHST_ELSE, dsb_ishst_else)                                       \
	X(DSB_ELSE, dsb_else) /* SY and the rest are always here */             \
	/* Software-generated interrupts, of whatever purpose. */               \
	X(SGI, ipi)                                                             \
	/* POWER: Power ISA v3.1B III 6.9.3. Process-scoped radix by RIC; the   \
	 * hashed and the partition-scoped forms are the hypervisor's. */       \
	X(TLBIE_RIC0, tlbie_ric0)                                               \
	X(TLBIE_RIC1, tlbie_ric1)                                               \
	X(TLBIE_RIC2, tlbie_ric2)                                               \
	X(TLBIE_RIC3, tlbie_ric3)                                               \
	X(TLBIE_OTHER, tlbie_other)                                             \
	X(TLBIEL_RIC0, tlbiel_ric0)                                             \
	X(TLBIEL_RIC1, tlbiel_ric1)                                             \
	X(TLBIEL_RIC2, tlbiel_ric2)                                             \
	X(TLBIEL_RIC3, tlbiel_ric3)                                             \
	X(TLBIEL_OTHER, tlbiel_other)                                           \
	X(PPC_TLBSYNC, tlbsync)                                                 \
	X(PTESYNC, ptesync)

enum insn_kind {
#define X(id, name) INSN_##id,
	INSN_KINDS(X)
#undef X
	INSN_NR_KINDS,
	INSN_NONE = INSN_NR_KINDS,	/* none of our business */
	INSN_MARKER,			/* see marker.h */
};

struct insn_class {
	enum insn_kind kind;
	uint16_t marker;	/* INSN_MARKER: its value */
};

/* The name of a kind that is counted. */
const char *insn_kind_name(enum insn_kind kind);

/* By QEMU's target name ("x86_64", "aarch64", "ppc64"); GUEST_NR_ARCHS: none. */
enum guest_arch guest_arch_of(const char *target_name);

/*
 * Classify the instruction of len bytes at guest address va. POWER is taken to
 * be little-endian. Markers count only at user addresses.
 */
struct insn_class classify(enum guest_arch arch, const uint8_t *bytes,
			   size_t len, uint64_t va);

#endif
