//! Schemas: the columns of rows. `schema!` makes them.

use crate::types::Type;
use std::marker::PhantomData;

/// The columns of a row, in order. `schema!` implements it; `()` has none, and [`Any`] whatever the stream has.
pub trait Schema: 'static {
    /// The columns.
    const COLUMNS: &'static [Field];
    /// How its rows are laid out.
    #[doc(hidden)]
    const LAYOUT: Layout;
    /// Whether it takes whatever the stream has.
    #[doc(hidden)]
    const ANY: bool = false;
}

impl Schema for () {
    const COLUMNS: &'static [Field] = &[];
    const LAYOUT: Layout = Layout { words: 1, variable: &[], any_variable: false };
}

/// The schema of functions that take whatever the stream has. Its columns are found by name when the function is opened:
/// [`Columns::find`](crate::Columns::find).
pub enum Any {}

impl Schema for Any {
    const COLUMNS: &'static [Field] = &[];
    const LAYOUT: Layout = Layout { words: 1, variable: &[], any_variable: false };
    const ANY: bool = true;
}

/// What is known of a schema when it is compiled.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) columns: &'static [Field],
    pub(crate) layout: Layout,
    pub(crate) any: bool,
}

/// See Rows.
pub(crate) const fn rows<S: Schema>() -> Rows {
    Rows { columns: S::COLUMNS, layout: S::LAYOUT, any: S::ANY }
}

/// What the manifest says of a column.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL.
    pub sql: fn() -> String,
    /// Whether its values can be longer than its 8 bytes.
    pub variable: bool,
    /// Of a parameter: its default as JSON.
    pub default: Option<&'static str>,
    /// A line for people.
    pub doc: &'static str,
}

/// A column of type `T` in rows of schema `S`: where it is. A constant of its schema, so that an access is one load or store.
pub struct Column<S, T> {
    pub(crate) position: u32,
    /// Bytes from the row's start.
    pub(crate) offset: u32,
    kind: PhantomData<fn() -> (S, T)>,
}

/// Handles are copied, whatever they are of: a derived Clone would ask that of their schemas, too.
macro_rules! copied {
    ($name:ident < $($parameter:ident),* >) => {
        impl<$($parameter),*> Clone for $name<$($parameter),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter),*> Copy for $name<$($parameter),*> {}
    };
}

pub(crate) use copied;

copied! { Column<S, T> }

impl<S, T> Column<S, T> {
    /// The column at a position among so many.
    #[doc(hidden)]
    pub const fn at(position: usize, columns: usize) -> Self {
        Column { position: position as u32, offset: field_offset(position, columns) as u32, kind: PhantomData }
    }
}

/// Bytes from a row's start to a field: behind the kind of change and the null bits.
pub(crate) const fn field_offset(position: usize, columns: usize) -> usize {
    (columns + 71) / 64 * 8 + 8 * position
}

/// How rows are laid out.
#[derive(Clone, Copy, Default)]
#[doc(hidden)]
pub struct Layout {
    /// Words of a row without its long values.
    pub words: usize,
    /// By column: the offset of its field if its values can be long, else 0.
    pub variable: &'static [u32],
    /// Whether any can.
    pub any_variable: bool,
}

impl Layout {
    /// The layout of columns; `variable` is what `variable_offsets` says of them.
    pub const fn new(columns: &[Field], variable: &'static [u32]) -> Layout {
        let mut any_variable = false;
        let mut i = 0;
        while i < columns.len() {
            any_variable |= columns[i].variable;
            i += 1;
        }
        Layout { words: field_offset(columns.len(), columns.len()) / 8, variable, any_variable }
    }
}

/// The offsets of fields whose values can be long, 0 for others.
#[doc(hidden)]
pub const fn variable_offsets<const N: usize>(columns: &[Field]) -> [u32; N] {
    let mut offsets = [0; N];
    let mut i = 0;
    while i < N {
        if columns[i].variable {
            offsets[i] = field_offset(i, N) as u32;
        }
        i += 1;
    }
    offsets
}

/// What the manifest says of a column of a type.
#[doc(hidden)]
pub const fn field<T: Type>(name: &'static str, default: Option<&'static str>, doc: &'static str) -> Field {
    Field { name, sql: T::sql, variable: T::VARIABLE, default, doc }
}

/// Makes schemas. A column is a name and a type of [`types`](crate::types); `as "other-name"` gives it a name that is no
/// Rust identifier. Of parameters, `= 15` is the default, and a doc comment is in the manifest; one without a default must
/// be set by the job.
///
/// ```
/// wasmstream::schema! {
///     pub struct Flight {
///         delay: Int,
///         carrier: String,
///         fare: Decimal<10, 2> as "ticket-fare",
///     }
///     struct Limits {
///         /// minutes
///         limit: Int = 15,
///     }
/// }
/// ```
/// The columns are constants: `Flight::delay` is a [`Column`] of rows of `Flight`.
#[macro_export]
macro_rules! schema {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $doc:literal])* $field:ident : $type:ident $(< $($argument:literal),+ >)? $(as $other:literal)? $(= $default:literal)?),* $(,)?
    })*) => {$(
        $(#[$meta])*
        $vis enum $name {}

        const _: () = {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[repr(usize)]
            enum Position { $($field,)* __Count }

            #[allow(non_upper_case_globals, dead_code, missing_docs)]
            impl $name {
                $($(#[doc = $doc])* pub const $field: $crate::Column<$name, $crate::types::$type $(< $($argument),+ >)?> =
                    $crate::Column::at(Position::$field as usize, Position::__Count as usize);)*
            }

            impl $crate::Schema for $name {
                const COLUMNS: &'static [$crate::schema::Field] = &[
                    $($crate::schema::field::<$crate::types::$type $(< $($argument),+ >)?>(
                        $crate::name_of!($field $(, $other)?), $crate::default_of!($($default)?), concat!($($doc),*),
                    )),*
                ];
                const LAYOUT: $crate::schema::Layout = {
                    const VARIABLE: [u32; Position::__Count as usize] =
                        $crate::schema::variable_offsets(<$name as $crate::Schema>::COLUMNS);
                    $crate::schema::Layout::new(<$name as $crate::Schema>::COLUMNS, &VARIABLE)
                };
            }
        };
    )*};
}

/// A column's name.
#[doc(hidden)]
#[macro_export]
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident, $other:literal) => {
        $other
    };
}

/// A default as JSON.
#[doc(hidden)]
#[macro_export]
macro_rules! default_of {
    () => {
        None
    };
    ($default:literal) => {
        Some(stringify!($default))
    };
}
