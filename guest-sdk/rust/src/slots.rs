//! Slots of variable width: the guest leaves the frame's rows alone and answers new ones.

use crate::effects::Effects;
use crate::frame::Frame;
use crate::raw;
use crate::row::{long_words, place_long_values, Row};
use crate::schema::{Layout, Schema};
use std::cell::UnsafeCell;

/// Byte 0 of a slot of fixed width that holds no value: the kind of change is none that a row has.
pub(crate) const ABSENT: u8 = 3;

/// A slot during a frame. Its words are kept from frame to frame.
#[derive(Default)]
struct Slot {
    words: Vec<u64>,
    /// Whether it was read from the frame, changed in the frame, and in the op at hand; and whether it holds a value.
    loaded: bool,
    edited: bool,
    touched: bool,
    present: bool,
}

/// The slots of a frame. Functions have shared references while they read several, hence the cell; that nobody reads a
/// slot while it is edited is for the contexts' signatures to say.
pub(crate) struct Slots {
    slots: UnsafeCell<Vec<Slot>>,
    /// A slot that takes its final form; kept for its memory.
    spare: Vec<u64>,
}

impl Slots {
    pub(crate) const fn new() -> Slots {
        Slots { slots: UnsafeCell::new(Vec::new()), spare: Vec::new() }
    }

    /// Begins a frame.
    #[inline(never)]
    pub(crate) fn begin(&mut self, count: usize) {
        let slots = self.slots.get_mut();
        if slots.len() < count {
            slots.resize_with(count, Slot::default);
        }
        for slot in &mut slots[..count] {
            slot.loaded = false;
            slot.edited = false;
        }
    }

    /// The slot for reading: None if it holds no value.
    #[inline(never)]
    pub(crate) fn read(&self, frame: &Frame, index: u32) -> Option<*const u8> {
        let slot = self.load(frame, index);
        match slot.present {
            true => Some(slot.words.as_ptr().cast()),
            false => None,
        }
    }

    /// The slot for writing; without a value it becomes a row of zeros.
    #[inline(never)]
    pub(crate) fn edit(&self, frame: &Frame, index: u32, layout: Layout) -> *mut u8 {
        let slot = self.load(frame, index);
        if !slot.present {
            slot.words.clear();
            slot.words.resize(layout.words, 0);
        }
        slot.present = true;
        slot.edited = true;
        slot.touched = true;
        slot.words.as_mut_ptr().cast()
    }

    /// Takes the slot's value away.
    #[inline(never)]
    pub(crate) fn clear(&self, frame: &Frame, index: u32) {
        let slot = self.load(frame, index);
        slot.present = false;
        slot.edited = true;
    }

    #[allow(clippy::mut_from_ref)]
    #[inline(never)]
    fn load(&self, frame: &Frame, index: u32) -> &mut Slot {
        // SAFETY: see the type; what a slot's words point to does not move here.
        let slots = unsafe { &mut *self.slots.get() };
        let slot = &mut slots[index as usize];
        if !slot.loaded {
            let row = frame.slot_entry(index);
            slot.words.clear();
            slot.words.extend_from_slice(row);
            slot.loaded = true;
            slot.present = !row.is_empty();
            slot.touched = false;
        }
        slot
    }

    /// Ends an op: the slots that it wrote to take their final form, so that the arena is free again. A function has so
    /// many slots, beginning with `first`.
    #[inline(never)]
    pub(crate) fn settle(&mut self, first: u32, layouts: &[Layout]) {
        for (slot, layout) in self.slots.get_mut().iter_mut().skip(first as usize).zip(layouts.iter().copied()) {
            if !slot.touched || !slot.loaded || !layout.any_variable {
                continue;
            }
            slot.touched = false;
            let base = slot.words.as_ptr().cast::<u8>();
            self.spare.clear();
            // SAFETY: the slot holds a row of the layout.
            unsafe {
                self.spare.extend_from_slice(&slot.words[..layout.words]);
                self.spare.resize(layout.words + long_words(base, layout), 0);
                place_long_values(self.spare.as_mut_ptr().cast(), base, layout);
            }
            std::mem::swap(&mut slot.words, &mut self.spare);
        }
    }

    /// Ends a frame: answers the slots that were edited.
    #[inline(never)]
    pub(crate) fn answer(&mut self, frame: &Frame, effects: &Effects) {
        let op = frame.ops.saturating_sub(1);
        for (i, slot) in self.slots.get_mut()[..frame.slots_count as usize].iter().enumerate() {
            if slot.edited {
                let words = if slot.present { &slot.words[..] } else { &[] };
                // SAFETY: words as bytes.
                let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) };
                effects.push_bytes(raw::EFFECT_SET_SLOT, op, i as u32, bytes);
            }
        }
    }
}

/// A slot of fixed width, for reading: None if it holds no value.
#[inline(always)]
pub(crate) unsafe fn read_fixed<'a, S: Schema>(slot: *const u8) -> Option<Row<'a, S>> {
    match *slot {
        ABSENT => None,
        _ => Some(Row::at(slot)),
    }
}

/// Takes the value of a slot of fixed width away.
pub(crate) unsafe fn clear_fixed(slot: *mut u8, layout: Layout) {
    slot.write_bytes(0, layout.words * 8);
    *slot = ABSENT;
}
