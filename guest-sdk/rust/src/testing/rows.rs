//! Rows from JSON and to JSON, written apart from the code that they test.

use super::case::there;
use super::json::{parse, Json};

/// The columns of a row: names and types.
#[derive(Clone, Default, Debug)]
pub(super) struct Schema {
    pub(super) fields: Vec<(String, String)>,
    pub(super) any: bool,
}

impl Schema {
    /// Of the manifest.
    pub(super) fn of(json: &Json) -> Schema {
        let field = |f: &Json| (f.get("name").text().to_string(), f.get("type").text().to_string());
        Schema { fields: json.get("fields").list().iter().map(field).collect(), any: json.get("any") == &Json::Bool(true) }
    }

    /// Of a line: `TYPE NAME, TYPE NAME`.
    pub(super) fn of_line(text: &str) -> Result<Schema, String> {
        let field = |column: &str| match column.rsplit_once(' ') {
            Some((kind, name)) => Ok((name.to_string(), kind.to_string())),
            None => Err(format!("column {column} is not TYPE NAME")),
        };
        Ok(Schema { fields: text.split(", ").map(field).collect::<Result<_, _>>()?, any: false })
    }

    /// As functions read and write it.
    pub(super) fn text(&self) -> String {
        self.fields.iter().map(|(name, kind)| format!("{kind}\t{name}\n")).collect()
    }

    pub(super) fn is_fixed(&self) -> bool {
        !self.fields.iter().any(|(_, kind)| kind == "STRING" || kind == "BYTES")
    }

    fn first_field(&self) -> usize {
        (self.fields.len() + 71) / 64 * 8
    }

    /// Bytes of a row without its long values.
    pub(super) fn fixed_bytes(&self) -> usize {
        self.first_field() + 8 * self.fields.len()
    }

    /// A row; columns that are absent are null.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u8>, String> {
        let json = parse(text).map_err(|e| format!("row {text}: {e}"))?;
        self.encode_json(&json).map_err(|e| format!("row {text}: {e}"))
    }

    pub(super) fn encode_json(&self, json: &Json) -> Result<Vec<u8>, String> {
        let members = match json {
            Json::Object(members) => members,
            _ => return Err("a row is an object".to_string()),
        };
        if let Some((name, _)) = members.iter().find(|(n, _)| !self.fields.iter().any(|(f, _)| f == n)) {
            return Err(format!("there is no column {name:?}; {}", there(self.fields.iter().map(|(f, _)| f.as_str()))));
        }
        let mut row = vec![0; self.fixed_bytes()];
        for (i, (name, kind)) in self.fields.iter().enumerate() {
            let at = self.first_field() + 8 * i;
            match json.get(name) {
                Json::Null => row[(i + 8) / 8] |= 1 << (i % 8),
                value => encode_field(&mut row, at, kind, value).map_err(|e| format!("column {name}: {e}"))?,
            }
        }
        Ok(row)
    }

    /// A row as JSON, for messages.
    pub(super) fn show(&self, row: &[u8]) -> String {
        if row.len() < self.fixed_bytes() {
            return format!("{} bytes, fewer than its columns have", row.len());
        }
        let field = |(i, (name, _)): (usize, &(String, _))| self.value(row, i).map(|v| format!("\"{name}\": {v}"));
        let fields: Vec<String> = self.fields.iter().enumerate().filter_map(field).collect();
        format!("{{{}}}", fields.join(", "))
    }

    /// A column's value as JSON; None for NULL.
    fn value(&self, row: &[u8], i: usize) -> Option<String> {
        match row[(i + 8) / 8] & 1 << (i % 8) {
            0 => Some(show_field(row, self.first_field() + 8 * i, &self.fields[i].1)),
            _ => None,
        }
    }

    /// The columns in which two rows differ, for the end of a message.
    pub(super) fn difference(&self, want: &[u8], got: &[u8]) -> String {
        if want.len() < self.fixed_bytes() || got.len() < self.fixed_bytes() {
            return String::new();
        }
        let null = || "null".to_string();
        let column = |(i, (name, _)): (usize, &(String, _))| {
            let (want, got) = (self.value(want, i).unwrap_or_else(null), self.value(got, i).unwrap_or_else(null));
            (want != got).then(|| format!("column {name} is {got}, not {want}"))
        };
        let columns: Vec<String> = self.fields.iter().enumerate().filter_map(column).collect();
        match columns.is_empty() {
            true => format!(": the values are alike, the bytes are not: {got:02x?} instead of {want:02x?}"),
            false => format!(": {}", columns.join(", ")),
        }
    }
}

fn encode_field(row: &mut Vec<u8>, at: usize, kind: &str, value: &Json) -> Result<(), String> {
    fn number<T: std::str::FromStr>(kind: &str, value: &Json) -> Result<T, String> {
        let parsed = if let Json::Number(n) = value { n.parse().ok() } else { None };
        parsed.ok_or_else(|| format!("{} is no {kind}", value.shown()))
    }
    let bits = match (kind, value) {
        ("BOOLEAN", Json::Bool(b)) => *b as u64,
        ("INT" | "DATE", v) => number::<i32>(kind, v)? as u32 as u64,
        ("BIGINT" | "TIMESTAMP(3)" | "TIMESTAMP_LTZ(3)", v) => number::<i64>(kind, v)? as u64,
        ("FLOAT", v) => number::<f32>(kind, v)?.to_bits() as u64,
        ("DOUBLE", v) => number::<f64>(kind, v)?.to_bits(),
        ("STRING", Json::Text(s)) => return append(row, at, s.as_bytes()),
        ("BYTES", Json::Text(s)) => return append(row, at, &from_base64(s)?),
        (kind, value) => return Err(format!("{} is no {kind}", value.shown())),
    };
    row[at..at + 8].copy_from_slice(&bits.to_le_bytes());
    Ok(())
}

/// Sets a value of variable width.
fn append(row: &mut Vec<u8>, at: usize, value: &[u8]) -> Result<(), String> {
    if value.len() <= 7 {
        row[at..at + value.len()].copy_from_slice(value);
        row[at + 7] = 0x80 | value.len() as u8;
        return Ok(());
    }
    let field = (row.len() as u64) << 32 | value.len() as u64;
    row[at..at + 8].copy_from_slice(&field.to_le_bytes());
    row.extend_from_slice(value);
    row.resize((row.len() + 7) / 8 * 8, 0);
    Ok(())
}

const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, b| bits << 8 | *b as u32) << (8 * (3 - three.len()));
        for digit in 0..4 {
            text.push(if digit > three.len() { '=' } else { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char });
        }
    }
    text
}

fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for b in text.trim_end_matches('=').bytes() {
        let digit = DIGITS.iter().position(|d| *d == b).ok_or_else(|| format!("{text} is not base64"))?;
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}

fn show_field(row: &[u8], at: usize, kind: &str) -> String {
    let bits = u64::from_le_bytes(row[at..at + 8].try_into().unwrap_or_default());
    match kind {
        "BOOLEAN" => (bits != 0).to_string(),
        "INT" | "DATE" => (bits as i32).to_string(),
        "FLOAT" => f32::from_bits(bits as u32).to_string(),
        "DOUBLE" => f64::from_bits(bits).to_string(),
        "STRING" | "BYTES" => {
            let (from, length) = match bits >> 63 {
                1 => (at, (bits >> 56 & 0x7F) as usize),
                _ => ((bits >> 32) as usize, bits as u32 as usize),
            };
            match row.get(from..from + length) {
                Some(value) if kind == "BYTES" => format!("{:?}", to_base64(value)),
                Some(value) => format!("{:?}", String::from_utf8_lossy(value)),
                None => "(beyond the row)".to_string(),
            }
        }
        _ => (bits as i64).to_string(),
    }
}
