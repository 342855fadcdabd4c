//! The manifest as protobuf JSON.

use crate::function::Function;
use crate::raw;
use crate::schema::{Field, Schema};
use crate::state::{NamedOutput, State};

/// Text of the manifest.
pub struct Description {
    text: String,
}

impl Description {
    pub(crate) fn begin() -> Description {
        let mut d = Description { text: String::new() };
        d.add(&["{\"abiVersion\": ", &raw::VERSION.to_string(), ", \"sdk\": \"wasmstream-rust\", \"sdkVersion\": "]);
        d.quote(env!("CARGO_PKG_VERSION"));
        d.add(&[", \"language\": \"rust\", \"functions\": ["]);
        d
    }

    pub(crate) fn end(mut self) -> String {
        self.add(&["\n]}\n"]);
        self.text
    }

    fn add(&mut self, parts: &[&str]) {
        parts.iter().for_each(|p| self.text.push_str(p));
    }

    /// A JSON string.
    fn quote(&mut self, s: &str) {
        self.text.push('"');
        for c in s.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                c if c < ' ' => {
                    let hex = |n: u32| char::from_digit(n, 16).unwrap_or('0');
                    self.add(&["\\u00"]);
                    self.text.extend([hex(c as u32 >> 4), hex(c as u32 & 15)]);
                }
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    /// `, "key": "value"`, unless the value is empty.
    pub(crate) fn property(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.add(&[", \"", key, "\": "]);
            self.quote(value);
        }
    }

    /// `, "key": true`, if it is.
    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.add(&[", \"", key, "\": true"]);
        }
    }

    pub(crate) fn begin_function<F: Function>(&mut self, name: &str, role: &str, first: bool) {
        self.add(&[if first { "" } else { "," }, "\n  {\"name\": "]);
        self.quote(name);
        self.property("role", role);
        self.property("doc", F::DOC);
        if !F::Parameters::COLUMNS.is_empty() {
            self.add(&[", \"parameters\": ["]);
            self.fields(F::Parameters::COLUMNS, true);
            self.add(&["]"]);
        }
    }

    /// What belongs to functions with named outputs.
    pub(crate) fn outputs(&mut self, outputs: &[NamedOutput]) {
        for (i, o) in outputs.iter().enumerate() {
            self.add(&[if i == 0 { ", \"namedOutputs\": [" } else { ", " }, "{\"name\": "]);
            self.quote(o.name);
            if !o.any {
                self.add(&[", \"schema\": {\"fields\": ["]);
                self.fields(o.columns, false);
                self.add(&["]}"]);
            }
            self.add(&["}"]);
        }
        self.add(&[if outputs.is_empty() { "" } else { "]" }]);
    }

    /// What belongs to functions with states, whose scope is this one if they do not say.
    pub(crate) fn states(&mut self, states: &[State], scope: &str) {
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

    pub(crate) fn end_function(&mut self) {
        self.add(&["}"]);
    }

    /// An input: its fields, or any.
    pub(crate) fn input<S: Schema>(&mut self, key: &str) {
        match S::ANY {
            true => self.add(&[", \"", key, "\": {\"any\": true}"]),
            false => self.columns(key, S::COLUMNS),
        }
    }

    /// An output: its fields. One that is any is answered when the function is opened.
    pub(crate) fn output<S: Schema>(&mut self) {
        self.columns("output", S::COLUMNS);
    }

    /// A schema, unless it has no columns.
    pub(crate) fn columns(&mut self, key: &str, columns: &[Field]) {
        if !columns.is_empty() {
            self.add(&[", \"", key, "\": {\"fields\": ["]);
            self.fields(columns, false);
            self.add(&["]}"]);
        }
    }

    fn fields(&mut self, fields: &[Field], of_parameters: bool) {
        for (i, f) in fields.iter().enumerate() {
            self.add(&[if i == 0 { "" } else { ", " }, "{\"name\": "]);
            self.quote(f.name);
            self.property("type", &(f.sql)());
            if of_parameters {
                self.property("default", f.default.unwrap_or(""));
                self.property("doc", f.doc.trim());
            }
            self.add(&["}"]);
        }
    }
}
