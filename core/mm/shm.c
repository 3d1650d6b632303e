/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System V shared memory: a file of shmem that has a number instead of a name. Its
 * number holds one reference, every mapping another, so that pages outlive the
 * mappings and, after shm_rmid(), the mappings outlive the number.
 *
 * Only what shmat() and shmdt() do to address spaces matters here: no keys, no
 * permissions, no limits but the id's width, and every attach may write.
 */
#include "mm/vma.h"

struct shmid_kernel {
	struct shmid_kernel *next;	/* shm_lock */
	s64 id;				/* const */
	struct address_space *file;	/* const; a reference of ours */
};

static void shm_add(struct kernel *k, struct shmid_kernel *shp)
{
	lockdep_assert_held(&k->shm_lock);
	shp->id = k->shm_next_id++;
	shp->next = k->shm;
	k->shm = shp;
}

s64 do_shmget(u64 size)
{
	struct kernel *k = kernel();
	struct shmid_kernel *shp;
	s64 id;

	size = PAGE_ALIGN(size);
	if (!size || size > current->mm->task_size)
		return -EINVAL;
	shp = kzalloc(sizeof(*shp));
	shp->file = shmem_file_setup(size);
	shp->file->shm_size = size;
	spin_lock(&k->shm_lock);
	shm_add(k, shp);
	id = shp->id;
	spin_unlock(&k->shm_lock);
	return id;
}

/* shm_lock: what points to segment id, or to NULL at the list's end. */
static struct shmid_kernel **shm_find(struct kernel *k, s64 id)
{
	struct shmid_kernel **pos = &k->shm;

	lockdep_assert_held(&k->shm_lock);
	while (*pos && (*pos)->id != id)
		pos = &(*pos)->next;
	return pos;
}

/*
 * A reference, taken before the lock is let go: shm_rmid() may drop the number's as soon
 * as it has the lock.
 */
static struct address_space *shm_get_file(s64 id)
{
	struct kernel *k = kernel();
	struct address_space *file = NULL;
	struct shmid_kernel *shp;

	spin_lock(&k->shm_lock);
	shp = *shm_find(k, id);
	if (shp) {
		file = shp->file;
		get_file(file);
	}
	spin_unlock(&k->shm_lock);
	return file;
}

/* mmap_lock for writing. Unlike MAP_FIXED, an address must be free. */
static s64 shm_map(struct mm_struct *mm, struct address_space *file, u64 addr)
{
	s64 at = get_unmapped_area(mm, addr, file->shm_size, 0);

	if (at < 0)
		return at;
	if (addr && (u64)at != addr)
		return -EINVAL;
	return mmap_region(mm, (u64)at, file->shm_size, VM_READ | VM_WRITE | VM_SHARED, file);
}

s64 do_shmat(s64 id, u64 addr)
{
	struct mm_struct *mm = current->mm;
	struct address_space *file;
	s64 ret;

	if (addr & ~PAGE_MASK)
		return -EINVAL;
	file = shm_get_file(id);
	if (!file)
		return -EINVAL;
	mach_charge(MMAP_UNLOCKED, 1);
	mmap_write_lock(mm);
	mach_charge(MMAP_LOCKED, 1);
	ret = shm_map(mm, file, addr);
	mmap_write_unlock(mm);
	if (ret < 0)
		fput(file);
	return ret;
}

/* Does this area show what an attach of file at addr put there? */
static bool shm_is_of(const struct vm_area_struct *vma, const struct address_space *file,
		      u64 addr)
{
	return vma->vm_file == file &&
	       (vma->vm_start - addr) >> PAGE_SHIFT == vma->vm_pgoff;
}

/*
 * Linux zaps with the lock held for writing here; only munmap() and mremap() downgrade
 * it. An attach may have been cut since: what is left of it goes, and nothing else.
 */
s64 do_shmdt(u64 addr)
{
	struct mm_struct *mm = current->mm;
	struct address_space *file;
	s64 ret = -EINVAL;
	u64 end;
	u32 i;

	if (addr & ~PAGE_MASK)
		return -EINVAL;
	mmap_write_lock(mm);
	for (i = vma_index(mm, addr); i < mm->map_count; i++) {
		struct vm_area_struct *vma = mm->areas[i];

		if (vma->vm_file && vma->vm_file->shm_size && vma->vm_start >= addr &&
		    shm_is_of(vma, vma->vm_file, addr))
			break;
	}
	if (i < mm->map_count) {
		file = mm->areas[i]->vm_file;
		end = addr + file->shm_size;
		ret = 0;
		while (!ret && i < mm->map_count && mm->areas[i]->vm_start < end) {
			if (shm_is_of(mm->areas[i], file, addr))
				ret = do_munmap(mm, mm->areas[i]->vm_start, mm->areas[i]->vm_end);
			else
				i++;
		}
	}
	mmap_write_unlock(mm);
	return ret;
}

s64 do_shm_rmid(s64 id)
{
	struct kernel *k = kernel();
	struct shmid_kernel **pos, *shp;

	spin_lock(&k->shm_lock);
	pos = shm_find(k, id);
	shp = *pos;
	if (shp)
		*pos = shp->next;
	spin_unlock(&k->shm_lock);
	if (!shp)
		return -EINVAL;
	fput(shp->file);
	kfree(shp, sizeof(*shp));
	return 0;
}
