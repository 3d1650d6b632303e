// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A calibration as a machine file. calibration_init() writes one with the costs of a template
 * and reads it back, so that everything the reader checks is checked, and what
 * calibration_write() writes later is a file of the same shape.
 */
#include "native/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "machine/desc_parts.h"

/* For what is not measured; a server without anything special. */
#define TEMPLATE "x86-2s"

static const char *const kinds[] = {
	[COST_PUBLISHED] = "published", [COST_DERIVED] = "derived", [COST_FITTED] = "estimate",
	[COST_ESTIMATE] = "estimate", [COST_MEASURED] = "measured",
};

/* Picoseconds as nanoseconds, exactly. */
static void put_ns(FILE *out, u64 ps)
{
	fprintf(out, ps % 1000 ? "%llu.%03llu" : "%llu", (unsigned long long)(ps / 1000),
		(unsigned long long)(ps % 1000));
}

/* The probe whose sink a cost is: the last one, which had the last word. */
static const char *probe_of(const struct calibration *c, const char *cost)
{
	const char *name = "";

	for (u32 i = 0; calibrate_probes[i].name; i++)
		for (u32 k = 0; k < CALIBRATE_MAX_SINKS && calibrate_probes[i].sinks[k]; k++)
			if (c->time[i].known && !strcmp(calibrate_probes[i].sinks[k], cost))
				name = calibrate_probes[i].name;
	return name;
}

static void put_cost(const struct calibration *c, u32 i, FILE *out)
{
	const struct cost *cost = cost_slot(c->desc, i);
	u8 kind = c->measured[i] ? COST_MEASURED : cost->kind;

	fprintf(out, "  %s: {value: ", cost_name(i));
	put_ns(out, cost->ps);
	fprintf(out, ", unit: ns, kind: %s", kinds[kind]);
	if (kind != COST_PUBLISHED) {
		fprintf(out, ", range: [");
		put_ns(out, cost->lo_ps);
		fprintf(out, ", ");
		put_ns(out, cost->hi_ps);
		fprintf(out, "]");
	}
	if (kind == COST_MEASURED)
		fprintf(out, ",\n    source: \"%s, less what other costs cover\"}\n",
			probe_of(c, cost_name(i)));
	else
		fprintf(out, ",\n    source: \"%.100s\"}\n", cost->source);
}

static void put_tlb(FILE *out, const char *name, const struct tlb_geometry *known,
		    const struct tlb_geometry *template)
{
	const struct tlb_geometry *g = known->ways ? known : template;

	fprintf(out, "  %s: {sets: %u, ways: %u, kind: %s, source: \"%s\"}\n", name, g->sets,
		g->ways, known->ways ? "measured" : "estimate",
		known->ways ? "CPUID" : "CPUID does not say; as " TEMPLATE);
}

static void put_head(const struct calibration *c, FILE *out)
{
	const struct host *h = &c->host;

	fprintf(out, "# SPDX-License-Identifier: GPL-2.0-or-later\n"
		"# Written by `tlblab calibrate`. era: %s (Linux %s)%s%s\n", h->era, h->release,
		h->note[0] ? "; " : "", h->note);
	if (c->forced)
		fprintf(out, "# The host was loaded: costs of what one CPU does to another are "
			"too low.\n");
	for (u32 i = 0; calibrate_probes[i].name; i++)
		if (c->time[i].known && c->time[i].floored)
			fprintf(out, "# %s: less than other costs cover.\n",
				calibrate_probes[i].name);
}

void calibration_write(const struct calibration *c, FILE *out)
{
	const struct host *h = &c->host;
	const struct machine_desc *d = c->desc;

	put_head(c, out);
	fprintf(out, "\nname: %s\nsummary: \"%s\"\narch: x86\ntopology: \"%s\"\n"
		"memory: %lluM\npage_shift: 12\nva_bits: 47\nasid_bits: 12\njitter_pct: %u\n"
		"tick_us: %u\ntimeslice_us: %u\n\ntlb:\n", h->name, h->summary, h->topology,
		(unsigned long long)(h->memory_bytes >> 20), d->jitter_pct, d->tick_us,
		d->timeslice_us);
	put_tlb(out, "l1", &h->l1, &d->l1);
	put_tlb(out, "l1_huge", &h->l1_huge, &d->l1_huge);
	put_tlb(out, "l2", &h->l2, &d->l2);
	fprintf(out, "walk_cache:\n  {entries: [%u, %u, %u], kind: estimate, source: \"as "
		TEMPLATE "\"}\n\nfeatures:\n", d->walk_cache[1], d->walk_cache[2],
		d->walk_cache[3]);
	for (u32 i = 0; i < h->nr_features; i++)
		fprintf(out, "  - {knob: %s, value: %s, kind: measured, source: \"%s\"}\n",
			h->feature[i].knob, h->feature[i].value, h->feature[i].source);
	fprintf(out, "\ncosts:\n");
	for (u32 i = 0; i < NR_ALL_COSTS; i++)
		if (cost_slot(c->desc, i)->given && cost_need(d, i) != COST_FOREIGN)
			put_cost(c, i, out);
}

/* Of the template only what nobody measures; estimates, whatever they are there. */
static void as_estimates(struct machine_desc *d)
{
	char source[sizeof(d->core_cost[0].source)];

	for (u32 i = 0; i < NR_ALL_COSTS; i++) {
		struct cost *cost = cost_slot(d, i);

		if (cost->kind != COST_PUBLISHED && cost->kind != COST_DERIVED)
			cost->kind = COST_ESTIMATE;
		snprintf(source, sizeof(source), "%.80s (as " TEMPLATE ")", cost->source);
		memcpy(cost->source, source, sizeof(source));
	}
	/* Natively a loop is part of what is measured. */
	d->core_cost[MACH_COST_USER_LOOP].ps = 1000;
	d->core_cost[MACH_COST_USER_LOOP].lo_ps = 500;
	d->core_cost[MACH_COST_USER_LOOP].hi_ps = 5000;
	d->core_cost[MACH_COST_FLUSH_TLB] = (struct cost){
		.ps = 300000, .lo_ps = 100000, .hi_ps = 500000, .kind = COST_ESTIMATE, .given = 1,
		.source = "1311 cycles less those of the locks (Hansen, IVB)",
	};
	d->core_cost[MACH_COST_SHMEM_FIND] = (struct cost){
		.ps = 100000, .lo_ps = 50000, .hi_ps = 200000, .kind = COST_ESTIMATE, .given = 1,
		.source = "a look-up in a tree, and a reference",
	};
	d->jitter_pct = 5;
}

bool calibration_init(struct calibration *c, char *error, size_t size)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int ret;

	if (machine_desc_load(TEMPLATE, c->desc, error, size))
		return false;
	as_estimates(c->desc);
	f = open_memstream(&text, &len);
	if (!f) {
		snprintf(error, size, "out of memory");
		return false;
	}
	calibration_write(c, f);
	fclose(f);
	ret = machine_desc_parse(text, len, "host.yaml", c->desc, error, size);
	free(text);
	return !ret;
}
