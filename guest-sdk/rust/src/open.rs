//! Opening a function: its parameters, and the schemas of inputs that are `any`.

use crate::host::fail;
use crate::op::Op;
use crate::raw;
use crate::row::Row;
use crate::schema::{field_offset, Any, Column, Layout};
use crate::state::Output;
use crate::types::Type;
use std::cell::RefCell;

/// Columns that are known when the function is opened.
#[derive(Clone, Default)]
pub struct Columns {
    list: Vec<(String, String)>,
}

impl Columns {
    /// No columns.
    pub fn new() -> Columns {
        Columns::default()
    }

    /// Adds a column of a type.
    pub fn with<T: Type>(mut self, name: &str) -> Columns {
        self.add(name, &T::sql());
        self
    }

    /// Adds a column of a type by its name in SQL.
    #[inline(never)]
    pub fn add(&mut self, name: &str, sql: &str) {
        self.list.push((name.to_string(), sql.to_string()));
    }

    /// The columns' names and types, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|(name, sql)| (name.as_str(), sql.as_str()))
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The type of the column of that name.
    pub fn type_of(&self, name: &str) -> Option<&str> {
        self.iter().find(|(n, _)| *n == name).map(|(_, sql)| sql)
    }

    /// The column of that name, whatever its type: it can be asked whether it is null.
    pub fn locate(&self, name: &str) -> Option<Column<Any, ()>> {
        let position = self.list.iter().position(|(n, _)| n == name)?;
        Some(Column::at(position, self.list.len()))
    }

    /// The column of that name, if it is there and of that type.
    pub fn find<T: Type>(&self, name: &str) -> Option<Column<Any, T>> {
        let sql = T::sql();
        let position = self.list.iter().position(|(n, s)| n == name && without_not_null(s) == sql)?;
        Some(Column::at(position, self.list.len()))
    }

    /// The column of that name and type; without it the function fails, and the job with it.
    pub fn need<T: Type>(&self, name: &str) -> Column<Any, T> {
        self.find(name).unwrap_or_else(|| {
            let sql = T::sql();
            match self.type_of(name) {
                Some(other) => fail(&["column ", name, " is of type ", other, ", not ", &sql].concat()),
                None => fail(&["there is no column ", name, ", of type ", &sql].concat()),
            }
        })
    }

    /// Reads the text of a schema: a line for each column, its type, a tab, its name.
    #[inline(never)]
    fn parse(text: &str) -> Columns {
        let mut columns = Columns::new();
        for (sql, name) in text.split_terminator('\n').filter_map(|line| line.split_once('\t')) {
            columns.add(name, sql);
        }
        columns
    }

    #[inline(never)]
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, sql) in self.iter() {
            for part in [sql, "\t", name, "\n"] {
                text.push_str(part);
            }
        }
        text
    }

    /// How rows of these columns are laid out. Open is called once in an instance: what is leaked is little.
    #[inline(never)]
    fn layout(&self) -> Layout {
        let count = self.list.len();
        let offset = |(i, (_, sql)): (usize, (&str, &str))| if is_variable(sql) { field_offset(i, count) as u32 } else { 0 };
        let variable: Vec<u32> = self.iter().enumerate().map(offset).collect();
        let any_variable = variable.iter().any(|o| *o != 0);
        Layout { words: field_offset(count, count) / 8, variable: Box::leak(variable.into_boxed_slice()), any_variable }
    }
}

fn without_not_null(sql: &str) -> &str {
    sql.strip_suffix(" NOT NULL").unwrap_or(sql)
}

/// Whether values of a type can be behind the columns.
#[inline(never)]
fn is_variable(sql: &str) -> bool {
    let name = sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    let digits = |sql: &str| sql.split(|c: char| !c.is_ascii_digit()).find_map(|d| d.parse::<u32>().ok()).unwrap_or(0);
    match name {
        "STRING" | "VARCHAR" | "CHAR" | "BYTES" | "VARBINARY" | "BINARY" | "ARRAY" | "MAP" | "MULTISET" | "ROW" => true,
        "DECIMAL" => digits(sql) > 18,
        _ => false,
    }
}

/// What a function is opened with.
pub struct Open<'a, P> {
    parameters: Row<'a, P>,
    input: Columns,
    second: Columns,
    op: Op<'a>,
    pub(crate) opened: RefCell<Opened>,
}

/// The layouts that are known when a function is opened.
#[derive(Default)]
pub struct Opened {
    pub(crate) input: Layout,
    pub(crate) outputs: Vec<(u32, Layout)>,
}

impl<'a, P> Open<'a, P> {
    #[inline(never)]
    pub(crate) fn new(op: Op<'a>) -> Self {
        let (mut input, mut second) = (Columns::new(), Columns::new());
        if op.op.arg != 0 {
            let mut at = op.op.arg;
            input = read_columns(op, &mut at);
            // The second input's is behind the first's, where there is one.
            if at + 4 <= op.frame.contexts_end {
                second = read_columns(op, &mut at);
            }
        }
        let opened = RefCell::new(Opened { input: input.layout(), outputs: Vec::new() });
        Open { parameters: op.row(), input, second, op, opened }
    }

    /// What `with:` in the job set, or the defaults.
    pub fn parameters(&self) -> Row<'a, P> {
        self.parameters
    }

    /// The input's columns, where the schema is [`Any`].
    pub fn input(&self) -> &Columns {
        &self.input
    }

    /// The second input's columns, where the schema is [`Any`].
    pub fn second(&self) -> &Columns {
        &self.second
    }

    /// Says what the columns of the main output are, where the schema is [`Any`].
    pub fn declare(&self, columns: &Columns) {
        self.declare_at(0, columns);
    }

    /// Says what the columns of a named output are, where the schema is [`Any`].
    pub fn declare_output(&self, output: Output<Any>, columns: &Columns) {
        self.declare_at(output.index, columns);
    }

    #[inline(never)]
    fn declare_at(&self, output: u32, columns: &Columns) {
        let output = self.op.declared(output);
        self.opened.borrow_mut().outputs.push((output, columns.layout()));
        self.op.call.effects.push_bytes(raw::EFFECT_SCHEMA, 0, output, columns.text().as_bytes());
    }
}

#[inline(never)]
fn read_columns(op: Op, at: &mut u32) -> Columns {
    // SAFETY: the host is trusted: {u32 length, text}.
    unsafe {
        let base = op.frame.at(*at);
        let length = *base.cast::<u32>();
        let text = std::slice::from_raw_parts(base.add(4), length as usize);
        *at += (4 + length + 7) / 8 * 8;
        Columns::parse(std::str::from_utf8_unchecked(text))
    }
}
