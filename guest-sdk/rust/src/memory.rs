//! The allocator of modules: a third of the size of std's own, and as fast where little is allocated, which is here.
//!
//! Blocks are powers of two from 16 bytes on; each size has a list of free ones, and what no list has comes from the end
//! of the memory. Freed blocks are never joined. A module that wants another one switches the feature `allocator` off.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

const LEAST: usize = 16;
const PAGE: usize = 1 << 16;

struct Blocks {
    /// Free blocks by the power of two of their size; each begins with the next one's address.
    free: [*mut u8; 32],
    /// What was never handed out: from here to the end of the memory.
    next: usize,
    end: usize,
}

struct Allocator(UnsafeCell<Blocks>);

// SAFETY: a module has one thread.
unsafe impl Sync for Allocator {}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(UnsafeCell::new(Blocks { free: [null_mut(); 32], next: 0, end: 0 }));

extern "C" {
    /// Where the linker says that the heap begins.
    static __heap_base: u8;
}

fn power(layout: &Layout) -> u32 {
    layout.size().max(LEAST).next_power_of_two().trailing_zeros()
}

impl Blocks {
    /// A block from the end of the memory, which grows for it.
    unsafe fn extend(&mut self, size: usize, align: usize) -> *mut u8 {
        if self.next == 0 {
            self.next = std::ptr::addr_of!(__heap_base) as usize;
            self.end = std::arch::wasm32::memory_size(0) * PAGE;
        }
        let at = (self.next + align - 1) & !(align - 1);
        let after = match at.checked_add(size) {
            Some(after) => after,
            None => return null_mut(),
        };
        if after > self.end {
            let pages = (after - self.end + PAGE - 1) / PAGE;
            if std::arch::wasm32::memory_grow(0, pages) == usize::MAX {
                return null_mut();
            }
            self.end += pages * PAGE;
        }
        self.next = after;
        at as *mut u8
    }
}

unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let blocks = &mut *self.0.get();
        let power = power(&layout);
        if power >= 31 {
            return null_mut();
        }
        let block = blocks.free[power as usize];
        if block.is_null() || layout.align() > LEAST {
            return blocks.extend(1 << power, layout.align().max(LEAST));
        }
        blocks.free[power as usize] = *block.cast::<*mut u8>();
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let blocks = &mut *self.0.get();
        let list = &mut blocks.free[power(&layout) as usize];
        *block.cast::<*mut u8>() = *list;
        *list = block;
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = Layout::from_size_align_unchecked(size, layout.align());
        if power(&layout) == power(&wanted) {
            return block;
        }
        let moved = self.alloc(wanted);
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(block, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}
