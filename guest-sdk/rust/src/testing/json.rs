//! As much JSON as rows in cases and manifests need.

/// A value. Numbers are kept as they are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A value for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Json::Null => "null".to_string(),
            Json::Bool(b) => b.to_string(),
            Json::Number(n) => n.clone(),
            Json::Text(s) => format!("{s:?}"),
            Json::List(_) => "a list".to_string(),
            Json::Object(_) => "an object".to_string(),
        }
    }

    /// The member of an object; Null if it is not there.
    pub(super) fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().find(|(n, _)| n == name).map_or(&Json::Null, |(_, v)| v),
            _ => &Json::Null,
        }
    }

    /// The elements of a list; none of anything else.
    pub(super) fn list(&self) -> &[Json] {
        match self {
            Json::List(list) => list,
            _ => &[],
        }
    }

    /// A text; "" for anything else.
    pub(super) fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => "",
        }
    }
}

/// Reads a text that is a value and nothing else.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    match parse_first(text)? {
        (value, "") => Ok(value),
        (_, rest) => Err(format!("there is more behind the value: {rest}")),
    }
}

/// Reads the value that a text begins with, and answers what is behind it.
pub(super) fn parse_first(text: &str) -> Result<(Json, &str), String> {
    let mut reader = Reader { rest: text };
    let value = reader.value()?;
    Ok((value, reader.rest.trim_start()))
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn value(&mut self) -> Result<Json, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest.chars().next() {
            Some('"') => self.string().map(Json::Text),
            Some('[') => self.list(),
            Some('{') => self.object(),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let end = self.rest.find(|c: char| !"+-.eE".contains(c) && !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at(end);
                self.rest = rest;
                Ok(Json::Number(number.to_string()))
            }
            _ => Err(format!("no JSON value begins here: {}", self.rest)),
        }
    }

    fn take(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a sign of punctuation.
    fn sign(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        self.take(sign)
    }

    fn need(&mut self, sign: &str) -> Result<(), String> {
        match self.sign(sign) {
            true => Ok(()),
            false => Err(format!("{sign} is missing before: {}", self.rest)),
        }
    }

    fn list(&mut self) -> Result<Json, String> {
        self.need("[")?;
        let mut list = Vec::new();
        while !self.sign("]") {
            if !list.is_empty() {
                self.need(",")?;
            }
            list.push(self.value()?);
        }
        Ok(Json::List(list))
    }

    fn object(&mut self) -> Result<Json, String> {
        self.need("{")?;
        let mut members = Vec::new();
        while !self.sign("}") {
            if !members.is_empty() {
                self.need(",")?;
            }
            self.rest = self.rest.trim_start();
            let name = self.string()?;
            self.need(":")?;
            members.push((name, self.value()?));
        }
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Result<String, String> {
        self.need("\"")?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, 'b')) => text.push('\u{8}'),
                    Some((_, 'f')) => text.push('\u{c}'),
                    Some((_, 'u')) => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| format!("\\u{digits} is no character"))?);
                    }
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(format!("a string without an end: {}", self.rest))
    }
}
