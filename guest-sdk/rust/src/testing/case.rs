//! The language of cases.txt: udfs/README.md describes it.

use super::json::{parse, parse_first, Json};
use super::rows::Schema;
use crate::raw;
use std::collections::HashMap;

/// A function, as the manifest says.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) role: String,
    json: Json,
}

impl Function {
    pub(super) fn all(manifest: &Json) -> Vec<Function> {
        let one = |f: &Json| Function { name: f.get("name").text().into(), role: f.get("role").text().into(), json: f.clone() };
        manifest.get("functions").list().iter().map(one).collect()
    }

    pub(super) fn schema(&self, key: &str) -> Schema {
        Schema::of(self.json.get(key))
    }

    /// The row of parameters; those that a text does not set have their defaults.
    fn parameters(&self, text: &str) -> Result<Vec<u8>, String> {
        let mut members = match parse(text)? {
            Json::Object(members) => members,
            _ => return Err("parameters are an object".into()),
        };
        let mut schema = Schema::default();
        for p in self.json.get("parameters").list() {
            let name = p.get("name").text().to_string();
            if !members.iter().any(|(n, _)| *n == name) && p.get("default") != &Json::Null {
                members.push((name.clone(), parse(p.get("default").text())?));
            }
            schema.fields.push((name, p.get("type").text().to_string()));
        }
        schema.encode_json(&Json::Object(members))
    }

    pub(super) fn states(&self) -> Vec<State> {
        let state = |s: &Json| State {
            name: s.get("name").text().into(),
            list: s.get("kind").text() == "list",
            in_slot: !matches!(s.get("kind").text(), "list" | "map"),
            scope: s.get("scope").text().into(),
            key: Schema::of(s.get("key")),
            value: Schema::of(s.get("value")),
        };
        self.json.get("states").list().iter().map(state).collect()
    }

    /// The schemas of an op's slots.
    pub(super) fn slots(&self, input: &Schema) -> Vec<Schema> {
        match self.role.as_str() {
            "aggregate" => vec![self.schema("accumulator")],
            "reduce" => vec![input.clone()],
            _ => self.states().into_iter().filter(|s| s.in_slot).map(|s| s.value).collect(),
        }
    }

    fn named_outputs(&self) -> &[Json] {
        self.json.get("namedOutputs").list()
    }

    /// The number of an output by its name, "" being the main one.
    fn output(&self, name: &str) -> Result<u32, String> {
        if name.is_empty() {
            return Ok(0);
        }
        match self.named_outputs().iter().position(|o| o.get("name").text() == name) {
            Some(i) => Ok(i as u32 + 1),
            None => {
                let names = there(self.named_outputs().iter().map(|o| o.get("name").text()));
                Err(format!("the function has no output {name}; {names}"))
            }
        }
    }
}

/// A state, as the manifest says.
pub(super) struct State {
    name: String,
    pub(super) list: bool,
    pub(super) in_slot: bool,
    pub(super) scope: String,
    pub(super) key: Schema,
    pub(super) value: Schema,
}

fn message() -> Schema {
    fixed("BYTES value, BYTES key")
}

fn request() -> Schema {
    fixed("STRING method, STRING url, STRING headers, BYTES body")
}

fn fixed(text: &str) -> Schema {
    Schema::of_line(text).unwrap_or_default()
}

/// A case: an opened function, and ops.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) function: usize,
    opened: String,
    pub(super) parameters: Vec<u8>,
    pub(super) input: Schema,
    pub(super) second: Schema,
    /// The schemas that opening must answer, and the message with which it must fail.
    pub(super) answers: Vec<Effect>,
    pub(super) fails: Option<String>,
    pub(super) steps: Vec<Step>,
    /// What cells hold before the first op; there are so many.
    pub(super) begins: HashMap<usize, Vec<u8>>,
    pub(super) cells: usize,
}

impl Case {
    /// What an effect of a row has before it in a case, and the row's columns: of an output those that opening answers, or
    /// those of the manifest. None where an effect has no row, or the function has no such output.
    pub(super) fn row_of(&self, f: &Function, kind: u32, aux: u32) -> Option<(String, Schema)> {
        let output = match (kind, aux) {
            (raw::EFFECT_REQUEST, _) => return Some(("request".to_string(), request())),
            (raw::EFFECT_EMIT, output) => output,
            _ => return None,
        };
        let named = f.named_outputs().get(output.wrapping_sub(1) as usize);
        let (word, declared) = match (output, named) {
            (0, _) if f.role == "encode" => ("emit".to_string(), message()),
            (0, _) => ("emit".to_string(), f.schema("output")),
            (_, Some(o)) => (format!("emit {}", o.get("name").text()), Schema::of(o.get("schema"))),
            (_, None) => return None,
        };
        let answered = self.answers.iter().find(|a| a.aux == output).and_then(|a| a.text.split_once(' '));
        let answered = answered.and_then(|(_, columns)| Schema::of_line(columns).ok());
        Some((word, answered.unwrap_or(declared)))
    }

    /// What came as a case has it behind =>.
    pub(super) fn show(&self, f: &Function, kind: u32, aux: u32, payload: &[u8]) -> String {
        if let Some((word, schema)) = self.row_of(f, kind, aux) {
            return format!("{word} {}", schema.show(payload));
        }
        let of = |words: &[&str]| match words.get(aux as usize) {
            Some(word) => word.to_string(),
            None => format!("{aux}, which is none of {}", words.join(", ")),
        };
        let mut text = match kind {
            raw::EFFECT_EMIT => {
                format!("emit to output {aux}, and the function has {}, numbered from 0", f.named_outputs().len() + 1)
            }
            raw::EFFECT_SCHEMA => return format!("schema {aux} {:?}", String::from_utf8_lossy(payload)),
            raw::EFFECT_SET_TIMER => format!("set-timer {}", of(DOMAINS)),
            raw::EFFECT_DELETE_TIMER => format!("delete-timer {}", of(DOMAINS)),
            raw::EFFECT_DECIDE => format!("decide {}", of(DECISIONS)),
            raw::EFFECT_EVICT => format!("evict {aux}"),
            raw::EFFECT_ASSIGN => "assign".to_string(),
            raw::EFFECT_KEEP => "keep".to_string(),
            raw::EFFECT_VISIT_KEYS => "visit-keys".to_string(),
            raw::EFFECT_EVENT_TIME => "event-time".to_string(),
            raw::EFFECT_WATERMARK => "watermark".to_string(),
            _ => format!("an effect of kind {kind}, which no case has"),
        };
        for number in payload.chunks_exact(8) {
            text += &format!(" {}", number.try_into().map_or(0, i64::from_le_bytes));
        }
        text
    }
}

/// The domains of timers and the decisions of triggers, in the order of their numbers.
const DOMAINS: &[&str] = &["event", "processing"];
const DECISIONS: &[&str] = &["continue", "fire", "purge", "fire-and-purge"];

/// An op.
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) kind: u16,
    pub(super) cells: Vec<usize>,
    pub(super) second: Vec<usize>,
    pub(super) row: Option<Vec<u8>>,
    pub(super) context: Option<Context>,
    /// Whose its list and map states are: of a key, and of a window of it.
    pub(super) owner: (String, String),
    /// The windows that were merged into its own.
    pub(super) merged: Vec<String>,
    pub(super) effects: Vec<Effect>,
    pub(super) holds: Vec<Held>,
    pub(super) fails: Option<String>,
}

/// What an op is about.
#[derive(Default)]
pub(super) struct Context {
    pub(super) bytes: usize,
    /// time, watermark, clock, start, end
    pub(super) times: [i64; 5],
    pub(super) key: Option<Vec<u8>>,
    pub(super) second: Option<Vec<u8>>,
    pub(super) detail: u32,
    pub(super) elements: Vec<(i64, Vec<u8>, u32)>,
    pub(super) merged: Vec<Vec<usize>>,
}

/// An effect that an op must have.
pub(super) struct Effect {
    pub(super) kind: u32,
    pub(super) aux: u32,
    pub(super) payload: Vec<u8>,
    pub(super) text: String,
}

/// What a state must hold.
pub(super) struct Held {
    pub(super) line: usize,
    pub(super) of: Holder,
    /// Keys are empty but of maps.
    pub(super) entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it is called, the columns of a map's keys, and those of its rows.
    pub(super) name: String,
    pub(super) key: Schema,
    pub(super) schema: Schema,
}

pub(super) enum Holder {
    Cell(usize),
    Entries((String, String), usize),
}

const OPS: &[(&str, u16, usize)] = &[
    ("create", raw::OP_CREATE, 0),
    ("add", raw::OP_ADD, 0),
    ("merge", raw::OP_MERGE, 0),
    ("result", raw::OP_RESULT, 0),
    ("reduce", raw::OP_REDUCE, 0),
    ("on-record", raw::OP_ON_RECORD, RECORD),
    ("on-second", raw::OP_ON_SECOND, KEYED),
    ("on-broadcast", raw::OP_ON_BROADCAST, RECORD),
    ("on-timer", raw::OP_ON_TIMER, KEYED),
    ("on-window", raw::OP_ON_WINDOW, GROUP),
    ("assign", raw::OP_ASSIGN, RECORD),
    ("on-element", raw::OP_ON_ELEMENT, WINDOW),
    ("on-event-time", raw::OP_ON_EVENT_TIME, WINDOW),
    ("on-processing-time", raw::OP_ON_PROCESSING_TIME, WINDOW),
    ("on-merge", raw::OP_ON_MERGE, GROUP),
    ("clear", raw::OP_CLEAR, WINDOW),
    ("evict", raw::OP_EVICT, GROUP),
    ("on-pair", raw::OP_ON_PAIR, PAIR),
    ("on-group", raw::OP_ON_GROUP, GROUP),
    ("on-answer", raw::OP_ON_ANSWER, PAIR),
    ("decode", raw::OP_DECODE, RECORD),
    ("encode", raw::OP_ENCODE, RECORD),
    ("on-key", raw::OP_ON_KEY, KEYED),
];

/// What functions of a role are asked.
fn ops_of(role: &str) -> &'static [&'static str] {
    match role {
        "aggregate" => &["create", "add", "merge", "result"],
        "reduce" => &["reduce"],
        "apply" => &["on-window", "clear"],
        "assigner" => &["assign"],
        "trigger" => &["on-element", "on-event-time", "on-processing-time", "on-merge", "clear"],
        "evictor" => &["evict"],
        "process" => &["on-record", "on-timer"],
        "co-process" => &["on-record", "on-second", "on-timer"],
        "broadcast-process" => &["on-record", "on-broadcast", "on-timer", "on-key"],
        "join" => &["on-pair"],
        "co-group" => &["on-group"],
        "enrich" => &["on-record", "on-answer"],
        "decode" => &["decode"],
        "encode" => &["encode"],
        _ => &["on-record"],
    }
}

/// Bytes of the kinds of context.
const RECORD: usize = 24;
const KEYED: usize = 32;
const WINDOW: usize = 48;
pub(super) const GROUP: usize = 56;
pub(super) const PAIR: usize = 64;

/// Reads cases.
pub(super) fn read(text: &str, functions: &[Function]) -> Result<Vec<Case>, String> {
    let mut reader = Reader { functions, cases: Vec::new(), function: None, now: Setting::default() };
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        reader.line(i + 1, word, rest.trim()).map_err(|e| format!("line {}: {e}", i + 1))?;
    }
    for case in &mut reader.cases {
        case.parameters = functions[case.function].parameters(&case.opened).map_err(|e| format!("case {}: {e}", case.name))?;
    }
    Ok(reader.cases)
}

/// What lines set for the ops that follow them in a case.
#[derive(Default)]
struct Setting {
    watermark: i64,
    clock: i64,
    key: String,
    key_row: Option<Vec<u8>>,
    window: [i64; 2],
    elements: Vec<(i64, Vec<u8>, u32)>,
    merged: Vec<[i64; 2]>,
    cell_of: HashMap<String, usize>,
    /// How often a window of a key has lost its states.
    lives: HashMap<(String, [i64; 2]), u32>,
}

struct Reader<'f> {
    functions: &'f [Function],
    cases: Vec<Case>,
    function: Option<usize>,
    now: Setting,
}

fn number<T: std::str::FromStr>(word: &str, text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{word}: {text:?} is no whole number, or none that fits"))
}

fn two(word: &str, text: &str) -> Result<[i64; 2], String> {
    let needed = || format!("{word}: 2 whole numbers are needed, and there is {text:?}");
    let (a, b) = text.trim().split_once(' ').ok_or_else(needed)?;
    Ok([number(word, a)?, number(word, b)?])
}

/// Tells which things of a kind there are, for errors about one that there is not.
pub(super) fn there<'a>(names: impl Iterator<Item = &'a str>) -> String {
    match names.collect::<Vec<_>>()[..] {
        [] => "there are none".to_string(),
        ref names => format!("there are {}", names.join(", ")),
    }
}

/// Cuts @TIME off; without it the time is the least i64.
fn cut_time(text: &str) -> Result<(i64, &str), String> {
    match text.strip_prefix('@') {
        None => Ok((i64::MIN, text)),
        Some(text) => {
            let (time, rest) = text.split_once(' ').unwrap_or((text, ""));
            Ok((number("the time behind @", time)?, rest))
        }
    }
}

impl<'f> Reader<'f> {
    fn line(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        match (word, self.function) {
            ("function", _) => {
                let found = self.functions.iter().position(|f| f.name == rest);
                self.function =
                    Some(found.ok_or_else(|| {
                        format!("no function {rest}; {}", there(self.functions.iter().map(|f| f.name.as_str())))
                    })?);
                self.now = Setting::default();
            }
            (_, None) => return Err(format!("{word} before `function`")),
            ("case", Some(function)) => self.begin(function, rest),
            _ if self.cases.last().map(|c| c.function) != self.function => return Err(format!("{word} before `case`")),
            _ => return self.in_case(line, word, rest),
        }
        Ok(())
    }

    fn begin(&mut self, function: usize, name: &str) {
        let f = &self.functions[function];
        self.now = Setting { watermark: i64::MIN, window: [i64::MIN; 2], ..Setting::default() };
        self.cases.push(Case {
            name: name.to_string(),
            function,
            opened: "{}".to_string(),
            parameters: Vec::new(),
            input: f.schema("input"),
            second: f.schema("secondInput"),
            answers: Vec::new(),
            fails: None,
            steps: Vec::new(),
            begins: HashMap::new(),
            cells: 0,
        });
    }

    fn case(&mut self) -> &mut Case {
        self.cases.last_mut().expect("a line in a case") // `line` has seen to it; so it is below
    }

    fn f(&self) -> &'f Function {
        &self.functions[self.function.expect("a line of a function")]
    }

    fn in_case(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "open" => self.case().opened = rest.to_string(),
            "input" => self.case().input = Schema::of_line(rest)?,
            "second" => self.case().second = Schema::of_line(rest)?,
            "schema" => {
                let (output, columns) = rest.split_once(' ').ok_or("`schema` needs an output and columns")?;
                let payload = Schema::of_line(columns)?.text().into_bytes();
                let effect = Effect { kind: raw::EFFECT_SCHEMA, aux: number(word, output)?, payload, text: rest.to_string() };
                self.case().answers.push(effect);
            }
            "fail" => match self.case().steps.last_mut() {
                Some(step) => step.fails = Some(rest.to_string()),
                None => self.case().fails = Some(rest.to_string()),
            },
            "watermark" => self.now.watermark = number(word, rest)?,
            "clock" => self.now.clock = number(word, rest)?,
            "window" => self.now.window = two(word, rest)?,
            "merged" => self.now.merged.push(two(word, rest)?),
            "key" => {
                let schema = self.f().schema("key");
                self.now.key = rest.to_string();
                self.now.key_row = if schema.fields.is_empty() { None } else { Some(schema.encode(rest)?) };
            }
            "element" | "second-element" => {
                let second = word == "second-element";
                let (time, rest) = cut_time(rest)?;
                let schema = if second { &self.case().second } else { &self.case().input };
                let row = schema.encode(rest)?;
                self.now.elements.push((time, row, second as u32));
            }
            "=>" => {
                let effect = self.effect(rest)?;
                self.case().steps.last_mut().ok_or("an effect before any op")?.effects.push(effect);
            }
            "state" => self.state(line, rest)?,
            "slot" => self.slot(line, rest)?,
            _ => self.op(line, word, rest)?,
        }
        Ok(())
    }

    /// The number of a cell: of a state by its owner, of an accumulator by its slot.
    fn cell(&mut self, name: String) -> usize {
        let next = self.case().cells;
        let cell = *self.now.cell_of.entry(name).or_insert(next);
        if cell == next {
            self.case().cells += 1;
        }
        cell
    }

    fn cell_name(&self, state: &State, window: [i64; 2]) -> String {
        match state.scope.as_str() {
            "window" => format!("{} of {} {window:?}", state.name, self.now.key),
            _ => format!("{} of {}", state.name, self.now.key),
        }
    }

    /// The cells of an op's states.
    fn group(&mut self, window: [i64; 2]) -> Vec<usize> {
        let names: Vec<String> = self.f().states().iter().filter(|s| s.in_slot).map(|s| self.cell_name(s, window)).collect();
        names.into_iter().map(|name| self.cell(name)).collect()
    }

    /// Takes away what a window's states hold: the next op of the window gets new cells.
    fn forget(&mut self, window: [i64; 2]) {
        for state in self.f().states().iter().filter(|s| s.scope == "window") {
            let name = self.cell_name(state, window);
            self.now.cell_of.remove(&name);
        }
        *self.now.lives.entry((self.now.key.clone(), window)).or_default() += 1;
    }

    fn owner(&self) -> (String, String) {
        (self.now.key.clone(), self.life(self.now.window))
    }

    /// A window until it loses its states.
    fn life(&self, window: [i64; 2]) -> String {
        let of = (self.now.key.clone(), window);
        format!("{window:?} {}", self.now.lives.get(&of).copied().unwrap_or(0))
    }

    fn op(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        let (_, kind, mut bytes) =
            *OPS.iter().find(|o| o.0 == word).ok_or_else(|| format!("{word} is no word of cases.txt: see udfs/README.md"))?;
        let ops = ops_of(&self.f().role);
        if !ops.contains(&word) {
            return Err(format!("{word} is not asked of {} {}: {} are", self.f().role, self.f().name, ops.join(", ")));
        }
        if kind == raw::OP_ON_RECORD && self.f().role.ends_with("process") {
            bytes = KEYED;
        }
        let owner = if kind == raw::OP_ON_BROADCAST { Default::default() } else { self.owner() };
        let mut step = Step {
            line,
            kind,
            owner,
            merged: Vec::new(),
            cells: Vec::new(),
            second: Vec::new(),
            row: None,
            context: None,
            effects: Vec::new(),
            holds: Vec::new(),
            fails: None,
        };
        match bytes {
            0 => self.op_of_slot(&mut step, rest)?,
            _ => self.op_in_context(&mut step, bytes, rest)?,
        }
        self.case().steps.push(step);
        Ok(())
    }

    /// An op of an aggregate or of a reduce function.
    fn op_of_slot(&mut self, step: &mut Step, rest: &str) -> Result<(), String> {
        let (slot, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        step.cells = vec![self.cell(slot.to_string())];
        match step.kind {
            raw::OP_ADD | raw::OP_REDUCE => step.row = Some(self.case().input.encode(rest)?),
            raw::OP_MERGE => step.second = vec![self.cell(rest.to_string())],
            raw::OP_RESULT => {
                let row = rest.strip_prefix("=> ").ok_or("`result` needs => and a row")?;
                step.effects.push(self.effect(&format!("emit {row}"))?);
            }
            _ => {}
        }
        Ok(())
    }

    fn op_in_context(&mut self, step: &mut Step, bytes: usize, mut rest: &str) -> Result<(), String> {
        let mut context = Context { bytes, key: self.now.key_row.clone(), ..Context::default() };
        if step.kind == raw::OP_EVICT || step.kind == raw::OP_ON_TIMER {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            context.detail = match (step.kind, word) {
                (raw::OP_EVICT, "before") | (raw::OP_ON_TIMER, "event") => 0,
                (raw::OP_EVICT, "after") | (raw::OP_ON_TIMER, "processing") => 1,
                _ => return Err(format!("{word}: evict is before or after, a timer of event or processing time")),
            };
            rest = behind;
        }
        let (time, rest) = cut_time(rest)?;
        let window = self.now.window;
        context.times = [time, self.now.watermark, self.now.clock, window[0], window[1]];
        self.rows(step, &mut context, rest)?;
        if step.kind != raw::OP_ON_BROADCAST {
            step.cells = self.group(window);
        }
        if bytes == GROUP {
            context.elements = std::mem::take(&mut self.now.elements);
        }
        for merged in std::mem::take(&mut self.now.merged) {
            let group = self.group(merged);
            context.merged.push(group);
            step.merged.push(self.life(merged));
            self.forget(merged);
        }
        if step.kind == raw::OP_CLEAR {
            self.forget(window);
        }
        step.context = Some(context);
        Ok(())
    }

    /// The rows of an op's line.
    fn rows(&mut self, step: &mut Step, context: &mut Context, mut rest: &str) -> Result<(), String> {
        let case = self.case();
        let (first, second) = match step.kind {
            raw::OP_ON_SECOND | raw::OP_ON_BROADCAST | raw::OP_ON_KEY => (case.second.clone(), None),
            raw::OP_ON_PAIR => (case.input.clone(), Some(case.second.clone())),
            raw::OP_ON_ANSWER => (case.input.clone(), Some(fixed("INT status, STRING headers, BYTES body, STRING error"))),
            raw::OP_DECODE => (message(), None),
            _ => (case.input.clone(), None),
        };
        for (i, schema) in std::iter::once(first).chain(second).enumerate() {
            if let Some(behind) = rest.strip_prefix('-') {
                rest = behind.trim_start();
                continue;
            }
            if rest.is_empty() {
                break;
            }
            let (json, behind) = parse_first(rest)?;
            let row = Some(schema.encode_json(&json)?);
            match i {
                0 => step.row = row,
                _ => context.second = row,
            }
            rest = behind;
        }
        match rest {
            "" => Ok(()),
            _ => Err(format!("more rows than the op has: {rest}")),
        }
    }

    /// What follows =>.
    fn effect(&mut self, text: &str) -> Result<Effect, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut e = Effect { kind: 0, aux: 0, payload: Vec::new(), text: text.to_string() };
        let words = |list: &[&str], word: &str| match list.iter().position(|w| *w == word) {
            Some(i) => Ok(i as u32),
            None => Err(format!("{word} is none of {list:?}")),
        };
        e.kind = match word {
            "emit" => {
                let (name, row) =
                    if rest.starts_with('{') { ("", rest) } else { rest.split_once(' ').ok_or("`emit` needs a row")? };
                e.aux = self.f().output(name)?;
                let f = self.f();
                let (_, schema) = self.case().row_of(f, raw::EFFECT_EMIT, e.aux).ok_or("there is no such output")?;
                e.payload = schema.encode(row)?;
                raw::EFFECT_EMIT
            }
            "set-timer" | "delete-timer" => {
                let (domain, time) = rest.split_once(' ').ok_or("a timer has a domain and a time")?;
                e.aux = words(DOMAINS, domain)?;
                e.payload = number::<i64>(word, time)?.to_le_bytes().to_vec();
                if word == "set-timer" {
                    raw::EFFECT_SET_TIMER
                } else {
                    raw::EFFECT_DELETE_TIMER
                }
            }
            "decide" => {
                e.aux = words(DECISIONS, rest)?;
                raw::EFFECT_DECIDE
            }
            "assign" => {
                e.payload = two(word, rest)?.iter().flat_map(|n| n.to_le_bytes()).collect();
                raw::EFFECT_ASSIGN
            }
            "evict" => {
                e.aux = number(word, rest)?;
                raw::EFFECT_EVICT
            }
            "event-time" | "watermark" => {
                e.payload = number::<i64>(word, rest)?.to_le_bytes().to_vec();
                if word == "watermark" {
                    raw::EFFECT_WATERMARK
                } else {
                    raw::EFFECT_EVENT_TIME
                }
            }
            "request" => {
                e.payload = request().encode(rest)?;
                raw::EFFECT_REQUEST
            }
            "keep" => raw::EFFECT_KEEP,
            "visit-keys" => raw::EFFECT_VISIT_KEYS,
            _ => {
                let effects =
                    "emit, set-timer, delete-timer, decide, assign, evict, keep, visit-keys, event-time, watermark and request";
                return Err(format!("{word:?} is no effect: there are {effects}"));
            }
        };
        Ok(e)
    }

    fn hold(&mut self, held: Held) -> Result<(), String> {
        self.case().steps.last_mut().ok_or("a state is looked at before any op")?.holds.push(held);
        Ok(())
    }

    fn state(&mut self, line: usize, rest: &str) -> Result<(), String> {
        let (name, mut rest) = rest.split_once(' ').ok_or("`state` needs a name and what it holds, or -")?;
        let states = self.f().states();
        let names = || there(states.iter().map(|s| s.name.as_str()));
        let lacks = || format!("the function has no state {name}; {}", names());
        let index = states.iter().position(|s| s.name == name).ok_or_else(lacks)?;
        let state = &states[index];
        let of = match (state.in_slot, state.scope.as_str()) {
            (true, _) => Holder::Cell({
                let name = self.cell_name(state, self.now.window);
                self.cell(name)
            }),
            (false, "broadcast") => Holder::Entries(Default::default(), index),
            (false, "window") => Holder::Entries(self.owner(), index),
            (false, _) => Holder::Entries((self.now.key.clone(), String::new()), index),
        };
        let mut entries = Vec::new();
        while !rest.is_empty() && rest != "-" {
            let (mut value, mut behind) = parse_first(rest)?;
            let mut key = Vec::new();
            if let Some(text) = behind.strip_prefix(':') {
                key = state.key.encode_json(&value)?;
                let (json, after) = parse_first(text)?;
                value = json;
                behind = after;
            }
            entries.push((key, state.value.encode_json(&value)?));
            rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
        }
        let (key, schema) = (state.key.clone(), state.value.clone());
        self.hold(Held { line, of, entries, name: format!("state {name}"), key, schema })
    }

    fn slot(&mut self, line: usize, rest: &str) -> Result<(), String> {
        let (slot, row) = rest.split_once(' ').ok_or("`slot` needs a number and a row")?;
        let schema = self.case().input.clone();
        let row = schema.encode(row)?;
        let used = self.now.cell_of.contains_key(slot);
        let cell = self.cell(slot.to_string());
        if used {
            let (name, entries) = (format!("slot {slot}"), vec![(Vec::new(), row)]);
            return self.hold(Held { line, of: Holder::Cell(cell), entries, name, key: Schema::default(), schema });
        }
        self.case().begins.insert(cell, row);
        Ok(())
    }
}
