//! The manifest as protobuf JSON.

use crate::function::Function;
use crate::op::Shape;
use crate::raw;
use crate::schema::{rows, Field, Layout, Rows, Schema};
use crate::state::{NamedOutput, State};

/// What there is to know of a function, whatever its role: data, so that a function costs little code.
#[derive(Clone, Copy)]
pub struct Facts {
    role: &'static str,
    doc: &'static str,
    parameters: &'static [Field],
    key: Rows,
    input: Rows,
    second: Rows,
    accumulator: Rows,
    output: Rows,
    outputs: &'static [NamedOutput],
    states: &'static [State],
    /// The scope of states that do not say.
    scope: &'static str,
    merges: bool,
    processing_time: bool,
    slot_is_input: bool,
}

impl Facts {
    pub(crate) const fn of<F: Function>(role: &'static str) -> Facts {
        let none = rows::<()>();
        Facts {
            role,
            doc: F::DOC,
            parameters: F::Parameters::COLUMNS,
            key: none,
            input: none,
            second: none,
            accumulator: none,
            output: none,
            outputs: F::OUTPUTS,
            states: F::STATES,
            scope: "",
            merges: false,
            processing_time: false,
            slot_is_input: false,
        }
    }

    pub(crate) const fn key<S: Schema>(mut self) -> Facts {
        self.key = rows::<S>();
        self
    }

    pub(crate) const fn input<S: Schema>(mut self) -> Facts {
        self.input = rows::<S>();
        self
    }

    pub(crate) const fn second<S: Schema>(mut self) -> Facts {
        self.second = rows::<S>();
        self
    }

    pub(crate) const fn accumulator<S: Schema>(mut self) -> Facts {
        self.accumulator = rows::<S>();
        self
    }

    pub(crate) const fn output<S: Schema>(mut self) -> Facts {
        self.output = rows::<S>();
        self
    }

    pub(crate) const fn scope(mut self, scope: &'static str) -> Facts {
        self.scope = scope;
        self
    }

    pub(crate) const fn merges(mut self, merges: bool) -> Facts {
        self.merges = merges;
        self
    }

    pub(crate) const fn processing_time(mut self, processing_time: bool) -> Facts {
        self.processing_time = processing_time;
        self
    }

    pub(crate) const fn slot_is_input(mut self) -> Facts {
        self.slot_is_input = true;
        self
    }

    /// How its rows are laid out; an input's layout is known when it is opened.
    #[inline(never)]
    pub(crate) fn shape(&self, name: &'static str, input: Layout) -> Shape {
        let (role, states) = (self.role, self.states);
        let mut shape = Shape { role, name, outputs: vec![self.output.layout], slots: Vec::new(), states };
        shape.outputs.extend(self.outputs.iter().map(|o| o.rows.layout));
        if self.slot_is_input {
            shape.slots.push(if self.input.any { input } else { self.input.layout });
        } else if !self.accumulator.columns.is_empty() {
            shape.slots.push(self.accumulator.layout);
        }
        shape.slots.extend(self.states.iter().filter(|s| s.in_slot).map(|s| s.layout));
        shape
    }
}

/// The ABI's version as text.
const VERSION: &str = match raw::VERSION {
    0 => "0",
    1 => "1",
    _ => panic!("say here how the version is written"), // while it is compiled
};

/// Text of the manifest.
pub struct Description {
    text: String,
}

impl Description {
    pub(crate) fn begin() -> Description {
        let mut d = Description { text: String::new() };
        d.add(&["{\"abiVersion\": ", VERSION, ", \"sdk\": \"wasmstream-rust\", \"sdkVersion\": "]);
        d.quote(env!("CARGO_PKG_VERSION"));
        d.add(&[", \"language\": \"rust\", \"functions\": ["]);
        d
    }

    pub(crate) fn end(mut self) -> String {
        self.add(&["\n]}\n"]);
        self.text
    }

    #[inline(never)]
    fn add(&mut self, parts: &[&str]) {
        parts.iter().for_each(|p| self.text.push_str(p));
    }

    /// A JSON string.
    #[inline(never)]
    fn quote(&mut self, s: &str) {
        self.text.push('"');
        for c in s.chars() {
            match c {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(c);
                }
                c if c < ' ' => {
                    let hex = b"0123456789abcdef";
                    self.add(&["\\u00"]);
                    self.text.push(hex[c as usize >> 4] as char);
                    self.text.push(hex[c as usize & 15] as char);
                }
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    /// `, "key": "value"`, unless the value is empty.
    #[inline(never)]
    fn property(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.add(&[", \"", key, "\": "]);
            self.quote(value);
        }
    }

    /// `, "key": true`, if it is.
    #[inline(never)]
    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.add(&[", \"", key, "\": true"]);
        }
    }

    #[inline(never)]
    pub(crate) fn function(&mut self, name: &str, f: &Facts, first: bool) {
        self.add(&[if first { "" } else { "," }, "\n  {\"name\": "]);
        self.quote(name);
        self.property("role", f.role);
        self.property("doc", f.doc.strip_prefix(' ').unwrap_or(f.doc));
        self.schema("key", &f.key);
        self.schema("input", &f.input);
        self.schema("secondInput", &f.second);
        self.schema("accumulator", &f.accumulator);
        // One that is any is answered when the function is opened.
        self.columns("output", f.output.columns);
        self.flag("merges", f.merges);
        self.flag("processingTime", f.processing_time);
        if !f.parameters.is_empty() {
            self.add(&[", \"parameters\": ["]);
            self.fields(f.parameters, true);
            self.add(&["]"]);
        }
        self.outputs(f.outputs);
        self.states(f.states, f.scope);
        self.add(&["}"]);
    }

    #[inline(never)]
    fn outputs(&mut self, outputs: &[NamedOutput]) {
        for (i, o) in outputs.iter().enumerate() {
            self.add(&[if i == 0 { ", \"namedOutputs\": [" } else { ", " }, "{\"name\": "]);
            self.quote(o.name);
            self.columns("schema", o.rows.columns);
            self.add(&["}"]);
        }
        self.add(&[if outputs.is_empty() { "" } else { "]" }]);
    }

    /// States, whose scope is this one if they do not say.
    #[inline(never)]
    fn states(&mut self, states: &[State], scope: &str) {
        for (i, s) in states.iter().enumerate() {
            self.add(&[if i == 0 { ", \"states\": [" } else { ", " }, "{\"name\": "]);
            self.quote(s.name);
            self.property("kind", s.kind);
            self.columns("key", s.key);
            self.columns("value", s.value);
            self.property("ttl", s.ttl);
            self.property("ttlUpdate", s.ttl_update);
            self.property("ttlVisibility", s.ttl_visibility);
            self.property("scope", if s.scope.is_empty() { scope } else { s.scope });
            self.add(&["}"]);
        }
        self.add(&[if states.is_empty() { "" } else { "]" }]);
    }

    /// A schema: its fields, or any.
    #[inline(never)]
    fn schema(&mut self, key: &str, rows: &Rows) {
        match rows.any {
            true => self.add(&[", \"", key, "\": {\"any\": true}"]),
            false => self.columns(key, rows.columns),
        }
    }

    /// A schema, unless it has no columns.
    #[inline(never)]
    fn columns(&mut self, key: &str, columns: &[Field]) {
        if !columns.is_empty() {
            self.add(&[", \"", key, "\": {\"fields\": ["]);
            self.fields(columns, false);
            self.add(&["]}"]);
        }
    }

    #[inline(never)]
    fn fields(&mut self, fields: &[Field], of_parameters: bool) {
        for (i, f) in fields.iter().enumerate() {
            self.add(&[if i == 0 { "" } else { ", " }, "{\"name\": "]);
            self.quote(f.name);
            self.property("type", &(f.sql)());
            if of_parameters {
                self.property("default", f.default.unwrap_or(""));
                self.property("doc", f.doc.strip_prefix(' ').unwrap_or(f.doc));
            }
            self.add(&["}"]);
        }
    }
}
