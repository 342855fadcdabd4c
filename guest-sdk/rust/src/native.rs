//! The host that stands in natively: what is logged is kept, and list and map states are those of the key that the test
//! is at. Each thread, that is each test, has its own.

use crate::host::Level;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Entries of states, in the order of their keys' bytes; of a list the key is the position, big-endian to be in order.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// What is to be known of a state.
pub(crate) struct Kind {
    pub(crate) list: bool,
    pub(crate) scope: String,
}

/// A key, and a window of it, as the test names them.
type Owner = (String, String);

#[derive(Default)]
struct Host {
    lines: Vec<(Level, String)>,
    /// By what the state is of, and by its index.
    states: BTreeMap<(Owner, u32), Entries>,
    /// What each op of the frame is of.
    owners: Vec<Owner>,
    /// The windows that were merged into each op's.
    merged: Vec<Vec<String>>,
    kinds: Vec<Kind>,
}

thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
}

/// Takes the lines that were logged.
pub fn logged() -> Vec<(Level, String)> {
    HOST.with(|h| std::mem::take(&mut h.borrow_mut().lines))
}

/// Forgets all states, and says what those of the function are.
pub(crate) fn begin(kinds: Vec<Kind>) {
    HOST.with(|h| *h.borrow_mut() = Host { kinds, ..Host::default() });
}

/// Says of which key and window each op of the next frame is, and which windows were merged into that.
pub(crate) fn owners(owners: Vec<Owner>, merged: Vec<Vec<String>>) {
    HOST.with(|h| {
        let host = &mut *h.borrow_mut();
        (host.owners, host.merged) = (owners, merged);
    });
}

/// The entries of a state; the keys of a list's are empty.
pub(crate) fn entries(owner: &Owner, state: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    HOST.with(|h| {
        let host = h.borrow();
        let is_list = host.kinds[state as usize].list;
        let key = |k: &Vec<u8>| if is_list { Vec::new() } else { k.clone() };
        host.states.get(&(owner.clone(), state)).map_or(Vec::new(), |e| e.iter().map(|(k, v)| (key(k), v.clone())).collect())
    })
}

pub(crate) fn log(level: Level, line: &str) {
    HOST.with(|h| h.borrow_mut().lines.push((level, line.to_string())));
}

/// Above the index of a state, a call has which of the merged windows it is about, counted from 1.
fn with<R>(op: u32, call: u32, f: impl FnOnce(&mut Entries, bool) -> R) -> R {
    HOST.with(|h| {
        let host = &mut *h.borrow_mut();
        let (state, merged) = (call & 0xffff, (call >> 16) as usize);
        let (key, mut window) = host.owners[op as usize].clone();
        if merged > 0 {
            window = host.merged[op as usize][merged - 1].clone();
        }
        let kind = &host.kinds[state as usize];
        let owner = match kind.scope.as_str() {
            "broadcast" => Owner::default(),
            "window" => (key, window),
            _ => (key, String::new()),
        };
        f(host.states.entry((owner, state)).or_default(), kind.list)
    })
}

fn copy(from: &[u8], into: &mut [u8]) -> i32 {
    if from.len() <= into.len() {
        into[..from.len()].copy_from_slice(from);
    }
    from.len() as i32
}

pub(crate) fn state_get(op: u32, state: u32, key: &[u8], into: &mut [u8]) -> i32 {
    with(op, state, |entries, _| entries.get(key).map_or(-1, |v| copy(v, into)))
}

pub(crate) fn state_put(op: u32, state: u32, key: &[u8], value: &[u8]) {
    with(op, state, |entries, is_list| {
        let next = entries.keys().next_back().map_or(1, |k| position(k) + 1);
        let key = if is_list { next.to_be_bytes().to_vec() } else { key.to_vec() };
        entries.insert(key, value.to_vec());
    })
}

pub(crate) fn state_delete(op: u32, state: u32, key: &[u8]) {
    with(op, state, |entries, _| match key.is_empty() {
        true => entries.clear(),
        false => drop(entries.remove(key)),
    })
}

fn position(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

pub(crate) fn state_scan(op: u32, state: u32, after: &[u8], into: &mut [u8]) -> i32 {
    with(op, state, |entries, is_list| {
        let after = match is_list && !after.is_empty() {
            true => after.iter().rev().copied().collect(),
            false => after.to_vec(),
        };
        let from = if after.is_empty() { Bound::Unbounded } else { Bound::Excluded(after) };
        let mut end = 0;
        for (key, value) in entries.range((from, Bound::Unbounded)) {
            let key = if is_list { position(key).to_le_bytes().to_vec() } else { key.clone() };
            let padded = |n: usize| (n + 7) / 8 * 8;
            let need = 8 + padded(key.len()) + padded(value.len());
            if end + need > into.len() {
                return if end == 0 { -(need as i32) } else { end as i32 };
            }
            let entry = &mut into[end..end + need];
            entry.fill(0);
            entry[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
            entry[4..8].copy_from_slice(&(value.len() as u32).to_le_bytes());
            entry[8..8 + key.len()].copy_from_slice(&key);
            entry[8 + padded(key.len())..][..value.len()].copy_from_slice(value);
            end += need;
        }
        end as i32
    })
}
