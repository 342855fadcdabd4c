package rows;

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.binary.BinarySegmentUtils;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.types.RowKind;

/** Prints one JSON line a row: its schema, its values, its bytes, its hash and its key groups. */
public final class Main {
    private static final String[] KINDS = {"+I", "-U", "+U", "-D"};
    private static PrintStream out;

    private Main() {}

    public static void main(String[] args) {
        out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.US_ASCII);
        numbers();
        text();
        decimals();
        timestamps();
        arities();
        arrays();
        nested();
        keys();
        drawn();
        serializer();
        out.flush();
    }

    static String rowOf(List<String> types) {
        List<String> fields = new ArrayList<>();
        for (int i = 0; i < types.size(); i++) {
            fields.add("`f" + i + "` " + types.get(i));
        }
        return "ROW<" + String.join(", ", fields) + ">";
    }

    static List<LogicalType> parse(List<String> types) {
        return types.stream().map(t -> LogicalTypeParser.parse(t, Main.class.getClassLoader())).toList();
    }

    private static void emit(List<String> types, List<Value> values, RowKind kind) {
        print("writer", types, values, Layout.row(parse(types), values, kind));
    }

    private static void emit(String type, Value value) {
        emit(List.of(type), List.of(value), RowKind.INSERT);
    }

    private static void print(String by, List<String> types, List<Value> values, BinaryRowData row) {
        byte[] bytes = BinarySegmentUtils.copyToBytes(row.getSegments(), row.getOffset(), row.getSizeInBytes());
        out.printf(
                "{\"by\":\"%s\",\"schema\":%s,\"kind\":\"%s\",\"values\":%s,\"row\":\"%s\",\"hash\":%d,\"group128\":%d,\"group32768\":%d}\n",
                by, Value.quote(rowOf(types)), KINDS[row.getRowKind().toByteValue()], Value.list(values), Value.hex(bytes), row.hashCode(),
                KeyGroupRangeAssignment.assignToKeyGroup(row, 128), KeyGroupRangeAssignment.assignToKeyGroup(row, 32768));
    }

    private static void numbers() {
        for (boolean v : new boolean[] {false, true}) {
            emit("BOOLEAN", Value.of(v));
        }
        for (int v : new int[] {0, 1, -1, 42, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            emit("INT", Value.of(v));
            emit("DATE", Value.of(v));
        }
        for (long v : new long[] {0, 1, -1, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE}) {
            emit("BIGINT", Value.of(v));
        }
        for (double v : new double[] {0, -0.0, 1.5, -1e30, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            emit("DOUBLE", Value.of(v));
            emit("FLOAT", Value.of((float) v));
        }
        for (double v : new double[] {Double.MIN_VALUE, Double.MAX_VALUE, Math.PI}) {
            emit("DOUBLE", Value.of(v));
        }
        for (float v : new float[] {Float.MIN_VALUE, Float.MAX_VALUE, (float) Math.PI}) {
            emit("FLOAT", Value.of(v));
        }
        for (String t : List.of("BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES", "ARRAY<INT>", "MAP<INT, INT>", "ROW<`f0` INT>")) {
            emit(t, Value.NULL);
        }
        for (RowKind kind : RowKind.values()) {
            emit(List.of("STRING", "BIGINT"), List.of(Value.of("changed row"), Value.of(7L)), kind);
        }
    }

    private static void text() {
        for (int n : new int[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 63}) {
            emit("STRING", Value.of("abcdefghi".repeat(7).substring(0, n)));
            byte[] bytes = new byte[n];
            for (int i = 0; i < n; i++) {
                bytes[i] = (byte) (255 - 37 * i);
            }
            emit("BYTES", Value.of(bytes));
            // Two values: the second one's offset tells how the first was padded.
            emit(List.of("STRING", "BYTES"), List.of(Value.of("z".repeat(n)), Value.of(bytes)), RowKind.INSERT);
        }
        for (String v : List.of("é", "ßßß", "日本", "日本語", "😀", "😀😀", "naïve", "naïve café", "\u0000", "\u007f", "a\"b\\c\n", "\uffff\ud800\udc00")) {
            emit("STRING", Value.of(v));
        }
    }

    private static void decimals() {
        for (int precision : new int[] {1, 5, 10, 17, 18, 19, 20, 31, 38}) {
            for (int scale : new int[] {0, precision / 2, precision}) {
                String type = "DECIMAL(" + precision + ", " + scale + ")";
                BigInteger most = BigInteger.TEN.pow(precision).subtract(BigInteger.ONE);
                for (BigInteger v : List.of(BigInteger.ZERO, BigInteger.ONE, most, most.negate())) {
                    emit(type, Value.decimal(v, precision, scale));
                }
                emit(List.of(type, "STRING"), List.of(Value.NULL, Value.of("after the room")), RowKind.INSERT);
            }
        }
        for (String v : new String[] {"127", "128", "-128", "-129", "255", "256", "32767", "-32768", "9223372036854775807", "9223372036854775808", "-9223372036854775809"}) {
            emit("DECIMAL(38, 3)", Value.decimal(new BigInteger(v), 38, 3));
        }
    }

    private static void timestamps() {
        for (String name : List.of("TIMESTAMP", "TIMESTAMP_LTZ")) {
            for (int precision : new int[] {0, 3, 4, 6, 9}) {
                String type = name + "(" + precision + ")";
                int nanos = precision <= 3 ? 0 : 999_999 - 999_999 % (int) Math.pow(10, 9 - precision);
                emit(type, Value.timestamp(0, 0));
                emit(type, Value.timestamp(-1000, nanos));
                emit(type, Value.timestamp(1_700_000_000_000L, nanos));
                emit(type, Value.timestamp(253_402_300_799_000L, 0));
                emit(List.of(type, "BYTES"), List.of(Value.NULL, Value.of(new byte[10])), RowKind.INSERT);
            }
        }
    }

    private static void arities() {
        String[] cycle = {"BIGINT", "STRING", "INT", "DECIMAL(25, 5)", "BOOLEAN", "TIMESTAMP(6)", "DOUBLE"};
        for (int n : new int[] {0, 1, 2, 55, 56, 57, 64, 65, 119, 120, 121, 128}) {
            List<String> longs = Collections.nCopies(n, "BIGINT");
            List<String> mixed = IntStream.range(0, n).mapToObj(i -> cycle[i % cycle.length]).toList();
            emit(longs, IntStream.range(0, n).mapToObj(i -> Value.of((long) i)).toList(), RowKind.INSERT);
            emit(longs, Collections.nCopies(n, Value.NULL), RowKind.DELETE);
            emit(mixed, new Chance(n).values(parse(mixed)), RowKind.UPDATE_AFTER);
            if (n > 0) {
                List<Value> lastNull = new ArrayList<>(Collections.nCopies(n, Value.of(-1L)));
                lastNull.set(n - 1, Value.NULL);
                emit(longs, lastNull, RowKind.UPDATE_BEFORE);
            }
        }
    }

    private static void arrays() {
        Chance chance = new Chance(7);
        for (String element : List.of(
                "BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "DECIMAL(18, 2)", "DECIMAL(19, 2)", "STRING", "BYTES",
                "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(0)", "ARRAY<INT>", "MAP<INT, STRING>", "ROW<`f0` INT, `f1` STRING>")) {
            LogicalType t = parse(List.of(element)).get(0);
            for (int n : new int[] {0, 1, 2, 3, 33}) {
                List<Value> values = new ArrayList<>();
                for (int i = 0; i < n; i++) {
                    values.add(i % 5 == 2 ? Value.NULL : chance.value(t));
                }
                emit("ARRAY<" + element + ">", Value.array(t, values));
            }
            emit("ARRAY<" + element + ">", Value.array(t, Collections.nCopies(2, Value.NULL)));
        }
        for (int n : new int[] {7, 8, 9, 31, 32, 64, 65}) {
            List<Value> flags = IntStream.range(0, n).mapToObj(i -> i % 3 == 0 ? Value.NULL : Value.of(i % 2 == 0)).toList();
            emit("ARRAY<BOOLEAN>", Value.array(parse(List.of("BOOLEAN")).get(0), flags));
        }
    }

    private static void nested() {
        Chance chance = new Chance(11);
        for (String type : List.of(
                "MAP<STRING, BIGINT>", "MAP<INT, BOOLEAN>", "MAP<BIGINT, ARRAY<STRING>>", "MAP<STRING, MAP<STRING, DECIMAL(30, 1)>>",
                "ROW<`f0` INT, `f1` STRING>", "ROW<`f0` DECIMAL(38, 0), `f1` TIMESTAMP(9)>", "ROW<`f0` ROW<`f0` ROW<`f0` STRING>>>",
                "ARRAY<ROW<`f0` MAP<STRING, ARRAY<DOUBLE>>>>", "ARRAY<ARRAY<ARRAY<BOOLEAN>>>")) {
            LogicalType t = parse(List.of(type)).get(0);
            for (int i = 0; i < 5; i++) {
                emit(List.of(type, "STRING"), List.of(chance.value(t), Value.of("what follows")), RowKind.INSERT);
            }
        }
    }

    private static void keys() {
        for (String v : List.of("JFK", "LAX", "N12345", "flink", "user-123", "a key of some length")) {
            emit("STRING", Value.of(v));
            emit(List.of("STRING", "INT"), List.of(Value.of(v), Value.of(v.length())), RowKind.INSERT);
        }
        for (long v = 0; v < 10; v++) {
            emit("BIGINT", Value.of(v * 1_000_003));
        }
    }

    private static void drawn() {
        for (int seed = 1; seed <= 200; seed++) {
            Chance chance = new Chance(seed);
            int arity = 1 + chance.below(7);
            List<String> types = IntStream.range(0, arity).mapToObj(i -> chance.type(2)).toList();
            emit(types, chance.values(parse(types)), RowKind.values()[chance.below(4)]);
        }
    }

    /** Flink's serializer makes a binary row of any other row; it keeps no room for the NULL of a wide value. */
    private static void serializer() {
        for (int seed = 1; seed <= 20; seed++) {
            Chance chance = new Chance(1000 + seed);
            List<String> types = List.of("DECIMAL(38, 2)", "STRING", "TIMESTAMP(9)", "BIGINT", "TIMESTAMP_LTZ(6)");
            List<Value> values = new ArrayList<>(chance.values(parse(types)));
            values.set(chance.below(5), Value.NULL);
            GenericRowData generic = new GenericRowData(RowKind.INSERT, types.size());
            for (int i = 0; i < types.size(); i++) {
                generic.setField(i, values.get(i).flink());
            }
            print("serializer", types, values, new RowDataSerializer(parse(types).toArray(new LogicalType[0])).toBinaryRow(generic));
        }
    }
}
