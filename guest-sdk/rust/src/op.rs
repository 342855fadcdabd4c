//! One op of a frame, and what it may do; contexts offer of it what their role allows.

use crate::arena::Arena;
use crate::effects::Effects;
use crate::frame::Frame;
use crate::host::fail;
use crate::raw;
use crate::row::{Row, RowMut};
use crate::schema::{Layout, Schema};
use crate::slots::{clear_fixed, read_fixed, Slots, ABSENT};
use crate::state::{Slot, State};
use std::cell::Cell;

/// What calls share and keep the memory of.
pub struct Call {
    pub(crate) effects: Effects,
    pub(crate) arena: Arena,
    pub(crate) slots: Slots,
    /// Of the op at hand: the states whose reads the host wants to know of, a bit for each slot of the function.
    pub(crate) touched: Cell<u64>,
}

impl Call {
    pub(crate) const fn new() -> Call {
        Call { effects: Effects::new(), arena: Arena::new(), slots: Slots::new(), touched: Cell::new(0) }
    }

    /// Begins the ops of a frame; answers whether its slots are of variable width.
    pub(crate) fn begin(&mut self, frame: &Frame) -> bool {
        let variable = frame.slots_count > 0 && !frame.fixed_slots();
        if variable {
            self.slots.begin(frame.slots_count as usize);
        }
        variable
    }

    /// Ends an op after which something is unsettled, or whose slots are of variable width: tells the host which states
    /// were read, has the slots that were written take their final form, and makes the arena free. False if the call
    /// cannot go on.
    #[inline(never)]
    pub(crate) fn settle(&mut self, op: u32, slot: u32, variable: bool, shape: &Shape) -> bool {
        let mut touched = self.touched.replace(0);
        while touched != 0 {
            self.effects.push(raw::EFFECT_TOUCH, op, slot + touched.trailing_zeros(), []);
            touched &= touched - 1;
        }
        if variable && slot != raw::NO_SLOT {
            self.slots.settle(slot, &shape.slots);
        }
        self.arena.reset();
        !self.effects.is_too_large()
    }

    /// Ends a frame.
    pub(crate) fn answer(&mut self, frame: &Frame, variable: bool) {
        if variable && !self.effects.is_too_large() {
            self.slots.answer(frame, &self.effects);
        }
    }
}

/// How a function's rows are laid out, which is known when it is opened; and who it is, for messages.
#[derive(Clone, Default)]
pub struct Shape {
    pub(crate) role: &'static str,
    pub(crate) name: &'static str,
    pub(crate) outputs: Vec<Layout>,
    pub(crate) slots: Vec<Layout>,
    pub(crate) states: &'static [State],
}

/// See the module.
#[derive(Clone, Copy)]
pub struct Op<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) op: &'a raw::Op,
    pub(crate) index: u32,
    pub(crate) call: &'a Call,
    pub(crate) shape: &'a Shape,
}

/// A field of the op's context. A context may be shorter than raw::Context: only what its kind has may be asked for.
macro_rules! context_field {
    ($op:expr, $field:ident) => {{
        let context = $op.frame.at($op.op.arg).cast::<raw::Context>();
        // SAFETY: the kind of op has a context with this field; the host is trusted.
        unsafe { std::ptr::addr_of!((*context).$field).read() }
    }};
}

pub(crate) use context_field;

impl<'a> Op<'a> {
    #[inline(always)]
    pub(crate) fn kind(&self) -> u16 {
        self.op.kind
    }

    /// The row at an offset.
    #[inline(always)]
    pub(crate) fn row_at<S>(&self, offset: u32) -> Row<'a, S> {
        // SAFETY: the host is trusted, and the frame is ours until the call ends.
        unsafe { Row::at(self.frame.at(offset)) }
    }

    /// The op's row.
    #[inline(always)]
    pub(crate) fn row<S>(&self) -> Row<'a, S> {
        self.row_at(self.op.row)
    }

    /// The row at an offset that may be 0, for none.
    pub(crate) fn optional_row<S>(&self, offset: u32) -> Option<Row<'a, S>> {
        match offset {
            0 => None,
            _ => Some(self.row_at(offset)),
        }
    }

    /// Ends a call in which the function does what cannot be.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, what: &str) -> ! {
        fail(&["wasmstream: ", self.shape.role, " ", self.shape.name, " ", what].concat())
    }

    /// Ends a call in which the function asks for one of several things that it does not have.
    #[cold]
    #[inline(never)]
    pub(crate) fn lacks(&self, what: &str, index: u32, count: usize) -> ! {
        let (index, count) = (index.to_string(), count.to_string());
        self.refuse(&["asks for ", what, " ", &index, " and has ", &count, ", numbered from 0"].concat())
    }

    /// Ends a call for a timer that nobody waits for.
    pub(crate) fn lacks_on_timer(&self) -> ! {
        self.refuse("set a timer, which is due, and has no on_timer to be called by it")
    }

    /// An output that the function declares: a handle may be another function's.
    #[inline(always)]
    pub(crate) fn declared(&self, output: u32) -> u32 {
        if output != 0 && output as usize >= self.shape.outputs.len() {
            self.lacks("output", output, self.shape.outputs.len());
        }
        output
    }

    /// The layout of rows of an output.
    #[inline(always)]
    pub(crate) fn output<S: Schema>(&self, output: u32) -> Layout {
        let output = self.declared(output);
        match S::ANY {
            true => self.shape.outputs[output as usize],
            false => S::LAYOUT,
        }
    }

    /// Emits a row.
    #[inline(always)]
    pub(crate) fn emit<S: Schema>(&self, output: u32, fill: impl FnOnce(&mut RowMut<S>)) {
        self.call.effects.push_row(raw::EFFECT_EMIT, self.index, output, &self.call.arena, self.output::<S>(output), fill);
    }

    /// Emits a row as it is.
    pub(crate) fn emit_row<S: Schema>(&self, output: u32, row: Row<S>) {
        self.call.effects.push_copy(raw::EFFECT_EMIT, self.index, output, self.output::<S>(output), row);
    }

    /// Adds an effect of words.
    #[inline(always)]
    pub(crate) fn effect<const N: usize>(&self, kind: u32, aux: u32, payload: [u64; N]) {
        self.call.effects.push(kind, self.index, aux, payload);
    }

    /// A slot for reading; None if it holds no value.
    #[inline(always)]
    pub(crate) fn read_slot<S: Schema>(&self, slot: u32) -> Option<Row<'a, S>> {
        // SAFETY: the slot holds rows of this schema. That nobody edits it for as long as the row is used is for the
        // callers' signatures to say.
        unsafe {
            match self.frame.fixed_slots() {
                true => read_fixed(self.frame.slot(slot)),
                false => self.call.slots.read(self.frame, slot).map(|base| Row::at(base)),
            }
        }
    }

    /// A slot for writing; without a value it becomes a row of zeros.
    #[inline(always)]
    pub(crate) fn edit_slot<S: Schema>(&self, slot: u32, layout: Layout) -> RowMut<'a, S> {
        // SAFETY: as in read_slot.
        unsafe {
            let base = match self.frame.fixed_slots() {
                true => {
                    let base = self.frame.slot(slot);
                    if *base == ABSENT {
                        *base = 0;
                    }
                    base
                }
                false => self.call.slots.edit(self.frame, slot, layout),
            };
            RowMut::at(base, &self.call.arena, layout)
        }
    }

    /// Takes a slot's value away.
    pub(crate) fn clear_slot<S: Schema>(&self, slot: u32) {
        match self.frame.fixed_slots() {
            // SAFETY: as in read_slot.
            true => unsafe { clear_fixed(self.frame.slot(slot), S::LAYOUT) },
            false => self.call.slots.clear(self.frame, slot),
        }
    }

    /// The op's accumulator, for writing.
    #[inline(always)]
    pub(crate) fn edit_accumulator<S: Schema>(&self) -> RowMut<'a, S> {
        match S::LAYOUT.any_variable {
            true => self.edit_slot(self.op.slot, S::LAYOUT),
            // SAFETY: as in read_slot.
            false => unsafe { RowMut::at(self.frame.slot(self.op.slot), &self.call.arena, S::LAYOUT) },
        }
    }

    /// An accumulator, for reading.
    #[inline(always)]
    pub(crate) fn read_accumulator<S: Schema>(&self, slot: u32) -> Row<'a, S> {
        match S::LAYOUT.any_variable {
            true => self.read_slot(slot).unwrap_or_else(|| fail("wasmstream: an accumulator that was not created")),
            // SAFETY: as in read_slot.
            false => unsafe { Row::at(self.frame.slot(slot)) },
        }
    }

    /// A state of the op's key or window, for reading.
    #[inline(always)]
    pub(crate) fn read_state<S: Schema>(&self, state: impl Slot<S>) -> Option<Row<'a, S>> {
        if state.tells_reads() {
            // Told when the op ends: a row may be open now.
            self.call.touched.set(self.call.touched.get() | 1 << state.slot());
            self.call.arena.unsettled.set(true);
        }
        self.read_slot(self.op.slot + self.slot_of(state))
    }

    /// The slot of a state that the function declares: a handle may be another function's.
    #[inline(always)]
    pub(crate) fn slot_of<S: Schema>(&self, state: impl Slot<S>) -> u32 {
        if state.slot() as usize >= self.shape.slots.len() {
            self.refuse("uses a state that is not among its STATES");
        }
        state.slot()
    }

    /// The index of a list or map state that the function declares.
    pub(crate) fn entries_of(&self, index: u32, kind: &str) -> u32 {
        match self.shape.states.get(index as usize) {
            Some(state) if state.kind == kind => index,
            _ => self.refuse("uses a state that is not among its STATES"),
        }
    }

    /// A state of the op's key or window, for writing.
    #[inline(always)]
    pub(crate) fn edit_state<S: Schema>(&self, state: impl Slot<S>) -> RowMut<'a, S> {
        self.edit_slot(self.op.slot + self.slot_of(state), S::LAYOUT)
    }
}
