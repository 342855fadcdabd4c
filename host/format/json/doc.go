// Package json reads and writes one JSON object per record, straight from and
// into rows: a scanner that is directed by the schema, with no tree and no token
// in between and no allocation for a sound record.
//
// Invariants:
//
//	(S) A record is accepted only if it is one JSON object by RFC 8259 in valid
//	    UTF-8, to the last byte, whichever of its fields anyone uses. Syntax is
//	    judged as strictly as by go-json-experiment's jsontext, against which the
//	    package is fuzzed: no control characters in strings, no lone surrogates,
//	    no leading zeros, no trailing commas, nothing but whitespace after the
//	    object, literals in lower case, at most 10,000 values nested.
//	(T) The type of a value is checked if its column is in the output schema, and
//	    only then. The name of an output column, of a field of its ROWs and of a
//	    key of its MAPs may be there once; other names may be repeated.
//	(V) A value is stored exactly or refused. Two roundings are meant: FLOAT and
//	    DOUBLE take the nearest value, and the fractions of DECIMAL and TIMESTAMP
//	    are cut to the type as told below.
//	(P) What was predicted from earlier records changes the speed, never the
//	    result: a prediction is compared with the bytes before it is used.
//	(R) What the Encoder wrote, the Decoder reads back as the same row, except for
//	    what its caveats name.
//	(L) The ARRAY, MAP and ROW values of a record take at most NestedBytesMax,
//	    and time in proportion, however little text stands for them.
//
// # What a column reads
//
// A field that is missing and the literal null are NULL. Otherwise:
//
//	BOOLEAN         true or false.
//	INT, BIGINT     a number whose value is an integer in range, however it is
//	                written: 1000, 1e3 and 1000.0 are the same. Flink reads them
//	                so as well, but cuts 1.5 to 1 and takes "1" in quotes, which
//	                are errors here (V).
//	FLOAT, DOUBLE   a number in range, or "NaN", "Infinity", "-Infinity".
//	DECIMAL(p, s)   a number, or a string that holds one. Digits after the s-th
//	                of the fraction are rounded half up, as in Flink; more than
//	                p-s digits before the point are an error, where Flink makes
//	                the value NULL.
//	STRING          a string.
//	BYTES           a string in base64 with the standard alphabet and padding.
//	DATE            "2001-02-16".
//	TIMESTAMP(p)    "2001-02-16T17:55:00.000Z" by RFC 3339, with Z or an offset,
//	                which is converted to UTC, or with neither, which means UTC;
//	                between date and time T or, as in Flink's SQL format, a space;
//	                up to 9 digits of fraction or none. Or an integer number of
//	                milliseconds since the epoch. What is finer than p digits is
//	                cut off, toward the past.
//	TIMESTAMP_LTZ(p) the same, but it is a point in time: a string needs Z or an
//	                offset.
//
// Dates are those of the proleptic Gregorian calendar, years 0000 to 9999 in
// UTC. A leap second (:60) is an error: event time has no place for it.
// Where nobody uses a column its value is skipped, whatever its type.
//
//	ARRAY<t>          an array.
//	MAP<STRING, t>    an object, its entries in the order in which they stand. A
//	                  key that is there twice is an error, where Flink keeps
//	                  the last. MAPs with other keys are refused, as in Flink.
//	ROW<...>          an object: fields that are missing are NULL, unknown ones
//	                  are skipped.
//
// What is nested in them is read as a column of its type is, NULL included, to
// any depth that types have. An error names the column and the place in it, with
// elements counted from 0: items[2].price, labels['a'].
//
// # What a column writes
//
// Columns stand in the schema's order, without spaces. A DECIMAL is a plain
// number with all s digits of its fraction, a TIMESTAMP(p) is in UTC with p
// digits of fraction, NaN and infinities are strings. A change kind other than
// +I is an extra first field "op". Invalid UTF-8 in a STRING, which only a guest
// could have put there, is written as U+FFFD.
//
// Caveats: the variable parts of a decoded row stand in the order in which the
// fields came, so rows of equal values may differ in bytes; keys are projected
// in the order of their columns and do not. A timestamp outside the years 0000
// to 9999 is written as integer milliseconds, which loses what is finer; a DATE
// outside has a longer year with a sign, which is not read back. A key of a MAP
// that is NULL is written as "null", one of the ways that Flink offers; keys that
// are equal, which only a guest could have put there, are both written and not
// read back.
package json
