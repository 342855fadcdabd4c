//! Plays a case: lays ops out in frames, and holds what the function did against what the case says.

use super::case::{Case, Context, Effect, Function, Held, Holder, Step, GROUP, PAIR};
use super::rows::Schema;
use crate::guest::{Entry, Guest};
use crate::native;
use crate::raw;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Byte 0 of a slot that holds no value.
const ABSENT: u8 = 3;

/// Plays a case with so many ops in a frame at the most, and answers what went wrong.
pub(super) fn play(functions: &'static [Entry], f: &Function, case: &Case, most: usize) -> Vec<String> {
    let states = f.states();
    native::begin(states.iter().map(|s| native::Kind { list: s.list, scope: s.scope.clone() }).collect());
    let cells = (0..case.cells).map(|i| case.begins.get(&i).cloned()).collect();
    let mut player = Player { guest: Guest::new(functions), f, case, slots: f.slots(&case.input), cells, wrong: Vec::new() };
    if player.open() {
        let mut rest = &case.steps[..];
        while !rest.is_empty() {
            let (frame, behind) = rest.split_at(player.fitting(rest, most));
            if !player.frame(frame) {
                break;
            }
            rest = behind;
        }
    }
    player.wrong
}

struct Player<'c> {
    guest: Guest,
    f: &'c Function,
    case: &'c Case,
    slots: Vec<Schema>,
    /// What states and accumulators hold.
    cells: Vec<Option<Vec<u8>>>,
    wrong: Vec<String>,
}

/// An effect that came.
struct Came {
    kind: u32,
    op: usize,
    aux: u32,
    payload: Vec<u8>,
}

/// All slots that an op names: its own, a second, those of merged windows.
fn groups(step: &Step) -> Vec<&[usize]> {
    let merged = step.context.iter().flat_map(|c| c.merged.iter());
    [&step.cells, &step.second].into_iter().chain(merged).map(|g| &g[..]).filter(|g| !g.is_empty()).collect()
}

impl Player<'_> {
    /// How many of the steps can be in a frame: the states of an op stand side by side, so none that shares a part of
    /// them with another.
    fn fitting(&self, steps: &[Step], most: usize) -> usize {
        let clash = |a: &Step, b: &Step| {
            let shares = |x: &[usize], y: &[usize]| x != y && x.iter().any(|c| y.contains(c));
            groups(a).iter().any(|x| groups(b).iter().any(|y| shares(x, y)))
        };
        let mut n = 1;
        while n < steps.len() && n < most && !steps[..n].iter().any(|s| clash(s, &steps[n])) {
            n += 1;
        }
        n
    }

    fn stride(&self) -> usize {
        match self.slots.iter().all(Schema::is_fixed) {
            true => self.slots.iter().map(Schema::fixed_bytes).max().unwrap_or(0),
            false => 0,
        }
    }

    /// Opens the function; false if that is the end of the case.
    fn open(&mut self) -> bool {
        let mut areas = Areas::new(1, self.stride(), 0);
        let row = areas.row(&self.case.parameters);
        let mut op = raw::Op { kind: raw::OP_OPEN, flags: 0, slot: raw::NO_SLOT, row, arg: 0 };
        if self.f.schema("input").any || self.f.schema("secondInput").any {
            op.arg = areas.schemas(&[&self.case.input, &self.case.second]);
        }
        let frame = areas.frame(&[op], 0);
        native::owners(Vec::new(), Vec::new());
        match (self.call(frame), &self.case.fails) {
            (Ok((effects, _)), None) => {
                self.compare("opening", 0, &effects, &self.case.answers);
                true
            }
            (result, wanted) => {
                self.failure("opening", result.err(), wanted.as_deref());
                false
            }
        }
    }

    fn failure(&mut self, what: &str, message: Option<String>, wanted: Option<&str>) {
        match (message, wanted) {
            (Some(message), Some(wanted)) if message.contains(wanted) => {}
            (Some(message), Some(wanted)) => self.wrong.push(format!("{what} failed with {message:?}, not with {wanted:?}")),
            (Some(message), None) => self.wrong.push(format!("{what} failed: {message}")),
            (None, Some(wanted)) => self.wrong.push(format!("{what} did not fail with {wanted:?}")),
            (None, None) => {}
        }
    }

    /// Performs a frame; the effects and the frame as it is then, or the message of a failure.
    fn call(&mut self, frame: Vec<u8>) -> Result<(Vec<Came>, Vec<u8>), String> {
        let function = self.case.function as u32;
        let base = self.guest.room(frame.len()).expect("room for the frame"); // else the test ends here
        let guest = &mut self.guest;
        // SAFETY: the room is as large; what is there is a frame.
        let answer = catch_unwind(AssertUnwindSafe(|| unsafe {
            base.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
            let words = guest.call(function, base, frame.len() as u32).map(<[u64]>::to_vec);
            (words, std::slice::from_raw_parts(base, frame.len()).to_vec())
        }));
        match answer {
            Ok((Some(words), after)) => Ok((effects(&words), after)),
            Ok((None, _)) => Err("the effects are too large".to_string()),
            Err(panic) => Err(match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
                (Some(s), _) => s.to_string(),
                (_, Some(s)) => s.clone(),
                _ => "a panic".to_string(),
            }),
        }
    }

    /// Performs steps as a frame; false if that is the end of the case.
    fn frame(&mut self, steps: &[Step]) -> bool {
        let mut order: Vec<usize> = Vec::new(); // cells by slot
        for group in steps.iter().flat_map(groups) {
            if !order.contains(&group[0]) {
                order.extend(group);
            }
        }
        let frame = self.lay_out(steps, &order);
        native::owners(steps.iter().map(|s| s.owner.clone()).collect(), steps.iter().map(|s| s.merged.clone()).collect());
        let last = &steps[steps.len() - 1];
        match (self.call(frame), &last.fails) {
            (Ok((came, after)), None) => {
                self.take(steps, &order, came, &after);
                last.holds.iter().for_each(|h| self.held(h));
                true
            }
            (result, wanted) => {
                self.failure(&format!("line {}", last.line), result.err(), wanted.as_deref());
                false
            }
        }
    }

    fn lay_out(&self, steps: &[Step], order: &[usize]) -> Vec<u8> {
        let mut areas = Areas::new(steps.len(), self.stride(), order.len());
        for (slot, cell) in order.iter().enumerate() {
            let created = steps.iter().any(|s| s.kind == raw::OP_CREATE && s.cells == [*cell]);
            areas.slot(slot, if created { Some(&[]) } else { self.cells[*cell].as_deref() });
        }
        let slot_of = |cells: &[usize]| cells.first().and_then(|c| order.iter().position(|o| o == c)).map(|i| i as u32);
        let ops: Vec<raw::Op> = steps
            .iter()
            .map(|s| raw::Op {
                kind: s.kind,
                flags: 0,
                slot: slot_of(&s.cells).unwrap_or(raw::NO_SLOT),
                row: s.row.as_ref().map_or(0, |row| areas.row(row)),
                arg: match &s.context {
                    Some(context) => areas.context(context, slot_of),
                    None => slot_of(&s.second).unwrap_or(0),
                },
            })
            .collect();
        areas.frame(&ops, order.len())
    }

    /// Takes what a frame did.
    fn take(&mut self, steps: &[Step], order: &[usize], came: Vec<Came>, after: &[u8]) {
        let stride = self.stride();
        let slots_at = size_of::<raw::Header>() + steps.len() * size_of::<raw::Op>();
        for (i, cell) in order.iter().enumerate().filter(|_| stride != 0) {
            let bytes = self.slots[i % self.slots.len()].fixed_bytes();
            let row = &after[slots_at + i * stride..][..bytes];
            self.cells[*cell] = if row[0] == ABSENT { None } else { Some(row.to_vec()) };
        }
        for e in came.iter().filter(|e| e.kind == raw::EFFECT_SET_SLOT) {
            match order.get(e.aux as usize) {
                Some(cell) if stride == 0 => self.cells[*cell] = Some(e.payload.clone()).filter(|p| !p.is_empty()),
                _ => self.wrong.push(format!("set-slot of slot {}, which is none of variable width", e.aux)),
            }
        }
        for (op, step) in steps.iter().enumerate() {
            self.compare(&format!("line {}", step.line), op, &came, &step.effects);
        }
    }

    fn compare(&mut self, what: &str, op: usize, came: &[Came], wanted: &[Effect]) {
        let silent = [raw::EFFECT_SET_SLOT, raw::EFFECT_TOUCH];
        let came: Vec<&Came> = came.iter().filter(|e| e.op == op && !silent.contains(&e.kind)).collect();
        for (c, w) in came.iter().zip(wanted) {
            // Equal rows have equal bytes: this is what the host relies on.
            if (c.kind, c.aux, &c.payload) != (w.kind, w.aux, &w.payload) {
                let row = self.case.row_of(self.f, w.kind, w.aux).filter(|_| (c.kind, c.aux) == (w.kind, w.aux));
                let columns = row.map_or(String::new(), |(_, schema)| schema.difference(&w.payload, &c.payload));
                self.wrong.push(format!("{what}: want {}, got {}{columns}", w.text, self.show(c)));
            }
        }
        for c in came.iter().skip(wanted.len()) {
            self.wrong.push(format!("{what}: got {} beyond what is wanted", self.show(c)));
        }
        for w in wanted.iter().skip(came.len()) {
            self.wrong.push(format!("{what}: want {}, got nothing", w.text));
        }
    }

    fn show(&self, e: &Came) -> String {
        self.case.show(self.f, e.kind, e.aux, &e.payload)
    }

    fn held(&mut self, h: &Held) {
        let got = match &h.of {
            Holder::Cell(cell) => self.cells[*cell].iter().map(|row| (Vec::new(), row.clone())).collect(),
            Holder::Entries(owner, state) => native::entries(owner, *state as u32),
        };
        if got != h.entries {
            let one = |(key, value): &(Vec<u8>, Vec<u8>)| match h.key.fields.is_empty() {
                true => h.schema.show(value),
                false => format!("{}: {}", h.key.show(key), h.schema.show(value)),
            };
            let show = |list: &[_]| list.iter().map(one).collect::<Vec<_>>().join(", ");
            let columns = match (&got[..], &h.entries[..]) {
                ([(_, got)], [(_, want)]) => h.schema.difference(want, got),
                _ => String::new(),
            };
            let text = format!("line {}: {} holds [{}], want [{}]{columns}", h.line, h.name, show(&got), show(&h.entries));
            self.wrong.push(text);
        }
    }
}

fn effects(words: &[u64]) -> Vec<Came> {
    let (mut list, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let length = words[at + 1] as u32 as usize;
        let payload = words[at + 2..].iter().flat_map(|w| w.to_le_bytes()).take(length).collect();
        list.push(Came { kind: words[at] as u32, op: (words[at] >> 32) as usize, aux: (words[at + 1] >> 32) as u32, payload });
        at += 2 + (length + 7) / 8;
    }
    list
}

/// A frame that is laid out: header, ops, slots, then rows and contexts as they come. The order of areas is the host's
/// choice, and functions find them by offsets only; so contexts stand among the rows here.
struct Areas {
    stride: usize,
    ops: usize,
    slots: Vec<u8>,
    rows: Vec<u8>,
}

impl Areas {
    fn new(ops: usize, stride: usize, slots: usize) -> Areas {
        let bytes = if stride == 0 { 8 } else { stride };
        Areas { stride, ops, slots: vec![0; slots * bytes], rows: Vec::new() }
    }

    /// The offset of what is appended next.
    fn next(&self) -> u32 {
        (size_of::<raw::Header>() + self.ops * size_of::<raw::Op>() + self.slots.len() + self.rows.len()) as u32
    }

    fn row(&mut self, row: &[u8]) -> u32 {
        let at = self.next();
        self.rows.extend_from_slice(row);
        self.rows.resize((self.rows.len() + 7) / 8 * 8, 0);
        at
    }

    /// Fills a slot: None holds no value, an empty row is one that is created.
    fn slot(&mut self, slot: usize, row: Option<&[u8]>) {
        match (self.stride, row) {
            (0, Some(row)) => {
                let entry = self.row(row) as u64 | (row.len() as u64) << 32;
                self.slots[slot * 8..slot * 8 + 8].copy_from_slice(&entry.to_le_bytes());
            }
            (0, None) => {}
            (stride, Some(row)) => self.slots[slot * stride..][..row.len()].copy_from_slice(row),
            (stride, None) => self.slots[slot * stride] = ABSENT,
        }
    }

    fn schemas(&mut self, schemas: &[&Schema]) -> u32 {
        let at = self.next();
        for text in schemas.iter().filter(|s| !s.fields.is_empty()).map(|s| s.text()) {
            let mut entry = (text.len() as u32).to_le_bytes().to_vec();
            entry.extend_from_slice(text.as_bytes());
            self.row(&entry);
        }
        at
    }

    fn context(&mut self, c: &Context, slot_of: impl Fn(&[usize]) -> Option<u32>) -> u32 {
        let mut place = |row: &Option<Vec<u8>>| row.as_ref().map_or(0, |row| self.row(row));
        let (key, second) = (place(&c.key), place(&c.second));
        let mut list = Vec::new();
        for (time, row, input) in &c.elements {
            list.extend_from_slice(&time.to_le_bytes());
            list.extend_from_slice(&self.row(row).to_le_bytes());
            list.extend_from_slice(&input.to_le_bytes());
        }
        for merged in &c.merged {
            list.extend_from_slice(&slot_of(merged).unwrap_or(raw::NO_SLOT).to_le_bytes());
        }
        let (at, count) = (self.next(), (c.elements.len() + c.merged.len()) as u32);
        let mut bytes = Vec::new();
        let [time, watermark, clock, start, end] = c.times;
        [time, watermark, clock].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        [key, c.detail].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        [start, end].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        [at + c.bytes as u32, count, second, 0].iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
        debug_assert!(bytes.len() == PAIR && GROUP < PAIR);
        bytes.truncate(c.bytes);
        bytes.extend_from_slice(&list);
        self.row(&bytes)
    }

    fn frame(mut self, ops: &[raw::Op], slots: usize) -> Vec<u8> {
        let (header, op) = (size_of::<raw::Header>(), size_of::<raw::Op>());
        let slots_at = header + self.ops * op;
        let rows_at = slots_at + self.slots.len();
        let total = rows_at + self.rows.len();
        let fields = [
            raw::VERSION,
            self.ops as u32,
            header as u32,
            slots_at as u32,
            slots as u32,
            self.stride as u32,
            rows_at as u32,
            self.rows.len() as u32,
            total as u32,
            0,
            total as u32,
        ];
        let mut frame: Vec<u8> = fields.iter().flat_map(|n| n.to_le_bytes()).collect();
        frame.resize(header, 0);
        for o in ops {
            frame.extend_from_slice(&(o.kind as u32).to_le_bytes());
            [o.slot, o.row, o.arg].iter().for_each(|n| frame.extend_from_slice(&n.to_le_bytes()));
        }
        frame.append(&mut self.slots);
        frame.append(&mut self.rows);
        frame
    }
}
