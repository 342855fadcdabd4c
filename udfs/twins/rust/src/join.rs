//! The columns of both rows.

use wasmstream::types::BigInt;
use wasmstream::*;

schema! {
    pub struct Options {
        window: Boolean = false,
    }
}

/// A column and where it goes.
type Copied = (Column<Any, ()>, Column<Any, ()>);

pub struct Joining {
    left: Vec<Copied>,
    right: Vec<Copied>,
    window: Option<(Column<Any, BigInt>, Column<Any, BigInt>)>,
}

/// Whether a field of the type is copied as it is, or is a text.
fn is_known(sql: &str) -> bool {
    let sql = sql.strip_suffix(" NOT NULL").unwrap_or(sql);
    let precision = sql.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse::<u32>().ok());
    match sql.split('(').next().unwrap_or("") {
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "FLOAT" | "DOUBLE" | "DATE" | "TIME" | "STRING" | "BYTES" => true,
        "DECIMAL" => precision.unwrap_or(10) <= 18,
        "TIMESTAMP" | "TIMESTAMP_LTZ" => precision.unwrap_or(6) <= 3,
        _ => false,
    }
}

impl Function for Joining {
    type Parameters = Options;

    fn open(open: &Open<Options>) -> Joining {
        let mut output = Columns::new();
        for (prefix, columns) in [("left_", open.input()), ("right_", open.second())] {
            for (name, sql) in columns.iter() {
                if !is_known(sql) {
                    fail(&["column ", name, " is of type ", sql, ", which is not copied here"].concat());
                }
                // A side may be missing.
                output.add(&[prefix, name].concat(), sql.strip_suffix(" NOT NULL").unwrap_or(sql));
            }
        }
        let with_window = open.parameters().value(Options::window);
        if with_window {
            output = output.with::<BigInt>("window_start").with::<BigInt>("window_end");
        }
        open.declare(&output);
        let copied = |prefix: &str, columns: &Columns| -> Vec<Copied> {
            let place = |name: &str| Some((output.locate(&[prefix, name].concat())?, columns.locate(name)?));
            columns.iter().filter_map(|(name, _)| place(name)).collect()
        };
        Joining {
            left: copied("left_", open.input()),
            right: copied("right_", open.second()),
            window: Some((output.find("window_start"), output.find("window_end")))
                .and_then(|(a, b)| Some((a?, b?)))
                .filter(|_| with_window),
        }
    }
}

impl Join for Joining {
    type Input = Any;
    type Second = Any;
    type Output = Any;

    fn join(&self, left: Option<Row<Any>>, right: Option<Row<Any>>, pair: &Pair<Any>) {
        pair.emit(|out| {
            for (side, columns) in [(left, &self.left), (right, &self.right)] {
                for (to, from) in columns {
                    match side {
                        Some(row) => out.copy_field(*to, row, *from),
                        None => out.set_null(*to),
                    }
                }
            }
            if let Some((start, end)) = self.window {
                out.set(start, pair.start());
                out.set(end, pair.end());
            }
        });
    }
}
