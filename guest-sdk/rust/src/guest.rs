//! The module at work: its functions, and the two buffers that it shares with the host.

use crate::describe::{Description, Facts};
use crate::frame::Frame;
use crate::function::{Function, Role};
use crate::op::{Call, Op, Shape};
use crate::open::{Open, Opened};
use crate::raw;
use crate::schema::Layout;
use std::marker::PhantomData;

/// A function of a module.
pub struct Entry {
    pub(crate) name: &'static str,
    facts: Facts,
    make: fn() -> Box<dyn Performs>,
}

/// The function of a name, which is of a role: `module!` calls it.
pub const fn entry<R: Role<F> + 'static, F: Function>(name: &'static str) -> Entry {
    Entry { name, facts: R::FACTS, make: make::<R, F> }
}

fn make<R: Role<F> + 'static, F: Function>() -> Box<dyn Performs> {
    Box::new(Instance::<R, F> { opened: None, role: PhantomData })
}

/// A function of any role, in an instance of the module.
trait Performs {
    /// Performs the ops of a frame, whose slots are of fixed or variable width.
    fn perform(&self, frame: &Frame, variable: bool, call: &mut Call, shape: &Shape);
    /// Opens it, with the layouts of what is known only then.
    fn open(&mut self, op: Op) -> Opened;
}

struct Instance<R, F> {
    opened: Option<F>,
    role: PhantomData<R>,
}

impl<R: Role<F>, F: Function> Performs for Instance<R, F> {
    fn perform(&self, frame: &Frame, variable: bool, call: &mut Call, shape: &Shape) {
        let f = match &self.opened {
            Some(f) => f,
            None => crate::fail("wasmstream: the function was not opened"),
        };
        for index in 0..frame.ops {
            let op = frame.op(index);
            R::perform(f, Op { frame, op, index, call, shape });
            if (variable || call.arena.unsettled.get()) && !call.settle(index, op.slot, variable, shape) {
                return;
            }
        }
    }

    fn open(&mut self, op: Op) -> Opened {
        self.opened = None;
        let open = Open::new(op);
        self.opened = Some(F::open(&open));
        open.opened.into_inner()
    }
}

/// A module's functions at work.
pub struct Guest {
    entries: &'static [Entry],
    functions: Vec<(Box<dyn Performs>, Shape)>,
    room: Vec<u64>,
    call: Call,
    text: String,
}

impl Guest {
    /// New instances of functions.
    pub fn new(entries: &'static [Entry]) -> Guest {
        let functions = entries.iter().map(|e| ((e.make)(), Shape::default())).collect();
        Guest { entries, functions, room: Vec::new(), call: Call::new(), text: String::new() }
    }

    /// A buffer for frames, of at least so many bytes; None if that is too many, or more than there is memory for.
    pub fn room(&mut self, size: usize) -> Option<*mut u8> {
        if size > raw::FRAME_BYTES_MAX {
            return None;
        }
        let words = ((size + 7) / 8).max(1 << 13);
        if words > self.room.len() {
            // Never two at once: the old one's content is of no use.
            self.room = Vec::new();
            self.room.try_reserve_exact(words).ok()?;
            self.room.resize(words, 0);
        }
        Some(self.room.as_mut_ptr().cast())
    }

    /// Performs a frame's ops, and answers the effects; None if they are too large.
    ///
    /// # Safety
    /// A frame as abi/README.md says must be there, 8-aligned, and be nobody else's during the call.
    pub unsafe fn call(&mut self, function: u32, frame: *mut u8, length: u32) -> Option<&[u64]> {
        self.call.effects.clear();
        self.call.arena.reset();
        let frame = Frame::open(frame, length).unwrap_or_else(|message| crate::fail(message));
        if function as usize >= self.functions.len() {
            crate::fail("wasmstream: the module has no function of that index");
        }
        let (f, shape) = &mut self.functions[function as usize];
        if frame.ops > 0 && frame.op(0).kind == raw::OP_OPEN {
            let Entry { name, facts, .. } = &self.entries[function as usize];
            *shape = facts.shape(name, Layout::default()); // what inputs are is not known yet
            let opened = f.open(Op { frame: &frame, op: frame.op(0), index: 0, call: &self.call, shape });
            *shape = facts.shape(name, opened.input);
            for (output, layout) in opened.outputs {
                shape.outputs[output as usize] = layout;
            }
        } else {
            let variable = self.call.begin(&frame);
            f.perform(&frame, variable, &mut self.call, shape);
            self.call.answer(&frame, variable);
        }
        self.call.effects.finish()
    }

    /// The manifest as protobuf JSON.
    pub fn describe(&mut self) -> &str {
        let mut d = Description::begin();
        for (i, e) in self.entries.iter().enumerate() {
            d.function(e.name, &e.facts, i == 0);
        }
        self.text = d.end();
        &self.text
    }
}

#[cfg(target_arch = "wasm32")]
pub use wasm::*;

/// What the exports call. An instance has one thread, and the host never enters it while a call is running.
#[cfg(target_arch = "wasm32")]
mod wasm {
    use super::*;

    static mut GUEST: Option<Guest> = None;

    fn guest() -> &'static mut Guest {
        // SAFETY: see the module.
        match unsafe { &mut *std::ptr::addr_of_mut!(GUEST) } {
            Some(guest) => guest,
            None => crate::fail("wasmstream: the module was not initialized"),
        }
    }

    /// Makes the functions, and has panics fail.
    pub fn begin(entries: &'static [Entry]) {
        std::panic::set_hook(Box::new(|info| {
            let message = match (info.payload().downcast_ref::<&str>(), info.payload().downcast_ref::<String>()) {
                (Some(s), _) => s,
                (_, Some(s)) => s.as_str(),
                _ => "a panic",
            };
            match info.location() {
                Some(at) => crate::fail(&[message, " (", at.file(), ":", &at.line().to_string(), ")"].concat()),
                None => crate::fail(message),
            }
        }));
        // SAFETY: as above.
        unsafe { *std::ptr::addr_of_mut!(GUEST) = Some(Guest::new(entries)) }
    }

    /// See Guest::room.
    pub fn room(size: u32) -> *mut u8 {
        guest().room(size as usize).unwrap_or(std::ptr::null_mut())
    }

    /// See Guest::call.
    pub fn call(function: u32, frame: *mut u8, length: u32) -> u64 {
        // SAFETY: the host is trusted.
        match unsafe { guest().call(function, frame, length) } {
            Some(words) => answer(words.as_ptr().cast(), words.len() * 8),
            None => raw::TOO_LARGE,
        }
    }

    /// See Guest::describe.
    pub fn describe() -> u64 {
        let text = guest().describe();
        answer(text.as_ptr(), text.len())
    }

    fn answer(at: *const u8, length: usize) -> u64 {
        match length {
            0 => 0,
            _ => (at as usize as u64) << 32 | length as u64,
        }
    }
}
