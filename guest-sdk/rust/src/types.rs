//! The types of columns, by their names in SQL.

use crate::arena::Arena;

/// A type of columns.
pub trait Type: 'static {
    /// Whether its values can be longer than a column's 8 bytes.
    const VARIABLE: bool = false;
    /// Its name in SQL.
    fn sql() -> std::string::String;
}

/// How values of a type are read and written; `'v` is how long they may be looked at.
pub trait Access<'v>: Type {
    /// What it is in Rust. Of a null column it is zero, or empty.
    type Value: Copy;
    /// Reads a field of a row.
    ///
    /// # Safety
    /// `row` must be a row with a field of this type at `offset`, both good for `'v`.
    #[doc(hidden)]
    unsafe fn read(row: *const u8, offset: u32) -> Self::Value;
    /// The 8 bytes of a field.
    #[doc(hidden)]
    fn bits(value: Self::Value, arena: &Arena) -> u64;
}

/// A type whose values are numbers in a field's lowest bytes.
macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident, $sql:literal, $value:ty, |$v:ident| $bits:expr;)*) => {$(
        $(#[$doc])*
        pub enum $name {}

        impl Type for $name {
            fn sql() -> std::string::String {
                $sql.into()
            }
        }

        impl<'v> Access<'v> for $name {
            type Value = $value;
            #[inline(always)]
            unsafe fn read(row: *const u8, offset: u32) -> $value {
                *row.add(offset as usize).cast::<$value>()
            }
            #[inline(always)]
            fn bits($v: $value, _: &Arena) -> u64 {
                $bits
            }
        }
    )*};
}

fixed! {
    /// BOOLEAN. The host writes 0 or 1.
    Boolean, "BOOLEAN", bool, |v| v as u64;
    /// INT.
    Int, "INT", i32, |v| v as u32 as u64;
    /// BIGINT.
    BigInt, "BIGINT", i64, |v| v as u64;
    /// FLOAT.
    Float, "FLOAT", f32, |v| v.to_bits() as u64;
    /// DOUBLE.
    Double, "DOUBLE", f64, |v| v.to_bits();
    /// TIMESTAMP(3), in milliseconds since 1970.
    Timestamp, "TIMESTAMP(3)", i64, |v| v as u64;
    /// TIMESTAMP_LTZ(3), in milliseconds since 1970.
    TimestampLtz, "TIMESTAMP_LTZ(3)", i64, |v| v as u64;
    /// DATE, in days since 1970.
    Date, "DATE", i32, |v| v as u32 as u64;
}

/// DECIMAL(P, S) of a precision up to 18: its unscaled number.
pub enum Decimal<const P: u8, const S: u8> {}

impl<const P: u8, const S: u8> Decimal<P, S> {
    /// Looked at where the type is used, while it is compiled.
    const FITS: () = assert!(P <= 18, "a DECIMAL of more than 18 digits is not supported");
}

impl<const P: u8, const S: u8> Type for Decimal<P, S> {
    fn sql() -> std::string::String {
        let () = Self::FITS;
        ["DECIMAL(", &P.to_string(), ", ", &S.to_string(), ")"].concat()
    }
}

impl<'v, const P: u8, const S: u8> Access<'v> for Decimal<P, S> {
    type Value = i64;
    #[inline(always)]
    unsafe fn read(row: *const u8, offset: u32) -> i64 {
        *row.add(offset as usize).cast::<i64>()
    }
    #[inline(always)]
    fn bits(v: i64, _: &Arena) -> u64 {
        v as u64
    }
}

/// STRING. A value that is read is a view of the row: good as long as the row.
pub enum String {}

impl Type for String {
    const VARIABLE: bool = true;
    fn sql() -> std::string::String {
        "STRING".into()
    }
}

impl<'v> Access<'v> for String {
    type Value = &'v str;
    #[inline]
    unsafe fn read(row: *const u8, offset: u32) -> &'v str {
        // SAFETY: the host checks that every STRING is UTF-8, and `bits` takes nothing else.
        std::str::from_utf8_unchecked(view(row, offset))
    }
    #[inline]
    fn bits(v: &'v str, arena: &Arena) -> u64 {
        variable_bits(v.as_bytes(), arena)
    }
}

/// BYTES. A value that is read is a view of the row: good as long as the row.
pub enum Bytes {}

impl Type for Bytes {
    const VARIABLE: bool = true;
    fn sql() -> std::string::String {
        "BYTES".into()
    }
}

impl<'v> Access<'v> for Bytes {
    type Value = &'v [u8];
    #[inline]
    unsafe fn read(row: *const u8, offset: u32) -> &'v [u8] {
        view(row, offset)
    }
    #[inline]
    fn bits(v: &'v [u8], arena: &Arena) -> u64 {
        variable_bits(v, arena)
    }
}

/// Values of up to 7 bytes are in the field's own 8, the last of which is 0x80 | length. Longer ones are behind the columns,
/// and the field is offset << 32 | length. While a row is being written its long values are in the arena, and the field is
/// PENDING | address: so a row stays where it is while it is written. No offset in a frame reaches PENDING, nor does an address.
pub(crate) const INLINE_MAX: usize = 7;
pub(crate) const INLINE: u64 = 1 << 63;
pub(crate) const PENDING: u64 = 1 << 62;
/// The field of an empty value.
pub(crate) const EMPTY: u64 = 0x80 << 56;

/// The bytes of a field of variable width.
#[inline]
pub(crate) unsafe fn view<'v>(row: *const u8, offset: u32) -> &'v [u8] {
    let field = row.add(offset as usize);
    let v = *field.cast::<u64>();
    let (at, length) = if v & INLINE != 0 {
        (field, (v >> 56 & 0x7F) as usize)
    } else if v & PENDING != 0 {
        let kept = (v & !PENDING) as usize as *const u64;
        (kept.add(1).cast::<u8>(), *kept as usize)
    } else {
        (row.add((v >> 32) as usize), v as u32 as usize)
    };
    std::slice::from_raw_parts(at, length)
}

pub(crate) fn variable_bits(v: &[u8], arena: &Arena) -> u64 {
    if v.len() > INLINE_MAX {
        return PENDING | arena.keep(v) as usize as u64;
    }
    let mut bits = EMPTY | (v.len() as u64) << 56;
    for (i, b) in v.iter().enumerate() {
        bits |= (*b as u64) << (8 * i);
    }
    bits
}
