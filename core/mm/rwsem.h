/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's reader/writer semaphore, whose algorithm decides how an
 * mmap_lock behaves when it is contended. Two are here, by the knob mm.rwsem:
 *
 * xadd (to 5.2; rwsem_xadd.c): the count adds up who holds the lock and whether
 *	anybody waits; waiters queue in order. Readers at the head are granted
 *	the lock together, as far as the first writer; a writer at the head is
 *	only woken, and must still win against writers that run.
 * handoff (from 5.3; rwsem_handoff.c): flags and a count of readers. A wake-up
 *	grants all readers in the queue, past writers too; a waiter that was
 *	passed over too often asks for the lock to be handed to it.
 *
 * In both, a writer first spins while the owner is a writer that runs, one
 * spinner at a time (the OSQ of rwsem.c).
 *
 * Callers of down_read(), down_write(): interrupts on, no spinlock held; may
 * sleep. The others do not sleep. Acquire on the way in, release on the way
 * out, nothing more. Never recursive.
 */
#ifndef CORE_MM_RWSEM_H
#define CORE_MM_RWSEM_H

#include "mm/mm_types.h"

void init_rwsem(struct rw_semaphore *sem);
void down_read(struct rw_semaphore *sem);
bool down_read_trylock(struct rw_semaphore *sem);
void up_read(struct rw_semaphore *sem);
void down_write(struct rw_semaphore *sem);
void up_write(struct rw_semaphore *sem);
/* From writer to reader, without letting another writer in between. */
void downgrade_write(struct rw_semaphore *sem);

#endif
