package rows;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.MapType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/** Draws types and values from a seed. */
final class Chance {
    private static final String[] CHARACTERS = {"a", "Z", "0", " ", "\"", "\\", "\n", "é", "ß", "Ж", "日", "語", "😀", "\u0000", "\uffff"};
    private final Random random;

    Chance(long seed) {
        random = new Random(seed);
    }

    int below(int n) {
        return random.nextInt(n);
    }

    String type(int depth) {
        int kinds = depth > 0 ? 14 : 11;
        return switch (below(kinds)) {
            case 0 -> "BOOLEAN";
            case 1 -> "INT";
            case 2 -> "BIGINT";
            case 3 -> "FLOAT";
            case 4 -> "DOUBLE";
            case 5 -> decimal();
            case 6 -> "STRING";
            case 7 -> "BYTES";
            case 8 -> "DATE";
            case 9 -> "TIMESTAMP(" + below(10) + ")";
            case 10 -> "TIMESTAMP_LTZ(" + below(10) + ")";
            case 11 -> "ARRAY<" + type(depth - 1) + ">";
            case 12 -> "MAP<" + type(0) + ", " + type(depth - 1) + ">";
            default -> row(1 + below(4), depth - 1);
        };
    }

    private String decimal() {
        int precision = 1 + below(38);
        return "DECIMAL(" + precision + ", " + below(precision + 1) + ")";
    }

    String row(int arity, int depth) {
        List<String> types = new ArrayList<>();
        for (int i = 0; i < arity; i++) {
            types.add(type(depth));
        }
        return Main.rowOf(types);
    }

    List<Value> values(List<LogicalType> types) {
        List<Value> values = new ArrayList<>();
        for (LogicalType t : types) {
            values.add(below(6) == 0 ? Value.NULL : value(t));
        }
        return values;
    }

    Value value(LogicalType t) {
        return switch (t.getTypeRoot()) {
            case BOOLEAN -> Value.of(random.nextBoolean());
            case INTEGER, DATE -> Value.of(random.nextInt() >> below(32));
            case BIGINT -> Value.of(random.nextLong() >> below(64));
            case FLOAT -> Value.of(Float.intBitsToFloat(random.nextInt() & 0xff7fffff)); // finite: the text NaN stands for one NaN only
            case DOUBLE -> Value.of(random.nextGaussian() * Math.pow(10, below(600) - 300));
            case DECIMAL -> decimal(LogicalTypeChecks.getPrecision(t), LogicalTypeChecks.getScale(t));
            case VARCHAR -> Value.of(text());
            case VARBINARY -> Value.of(text().getBytes(StandardCharsets.UTF_16LE));
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> timestamp(LogicalTypeChecks.getPrecision(t));
            case ARRAY -> array(((ArrayType) t).getElementType());
            case MAP -> map(((MapType) t).getKeyType(), ((MapType) t).getValueType());
            case ROW -> Value.row(t.getChildren(), values(((RowType) t).getChildren()));
            default -> throw new IllegalArgumentException(t.toString());
        };
    }

    private Value decimal(int precision, int scale) {
        BigInteger unscaled = new BigInteger(1 + below(127), random).mod(BigInteger.TEN.pow(precision));
        return Value.decimal(random.nextBoolean() ? unscaled : unscaled.negate(), precision, scale);
    }

    private String text() {
        StringBuilder text = new StringBuilder();
        for (int n = below(12); n > 0; n--) {
            text.append(CHARACTERS[below(CHARACTERS.length)]);
        }
        return text.toString();
    }

    private Value timestamp(int precision) {
        int unit = (int) Math.pow(10, 9 - precision);
        long ms = (random.nextLong() >> 16) / Math.max(1, unit / 1_000_000) * Math.max(1, unit / 1_000_000);
        return Value.timestamp(ms, precision <= 3 ? 0 : below(1_000_000) / unit * unit);
    }

    private Value array(LogicalType element) {
        List<LogicalType> types = new ArrayList<>();
        for (int n = below(5) * below(4); n > 0; n--) {
            types.add(element);
        }
        return Value.array(element, values(types));
    }

    private Value map(LogicalType key, LogicalType element) {
        Map<String, Value> keys = new LinkedHashMap<>();
        List<LogicalType> types = new ArrayList<>();
        for (int n = below(5); n > 0; n--) {
            Value k = value(key);
            if (keys.put(k.json(), k) == null) {
                types.add(element);
            }
        }
        return Value.map(key, new ArrayList<>(keys.values()), element, values(types));
    }
}
