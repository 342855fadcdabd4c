package rows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryArrayData;
import org.apache.flink.table.data.binary.BinaryMapData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;

/** A value twice: as the object that Flink's writers take, and as JSON for the reader of the vectors. */
record Value(Object flink, String json) {
    static final Value NULL = new Value(null, "null");

    static Value of(boolean v) {
        return new Value(v, "" + v);
    }

    static Value of(int v) {
        return new Value(v, "" + v);
    }

    static Value of(long v) {
        return new Value(v, "" + v);
    }

    // As text: JSON has no NaN and no infinities.
    static Value of(float v) {
        return new Value(v, "\"" + v + "\"");
    }

    static Value of(double v) {
        return new Value(v, "\"" + v + "\"");
    }

    static Value of(String v) {
        return new Value(StringData.fromString(v), quote(v));
    }

    static Value of(byte[] v) {
        return new Value(v, "\"" + hex(v) + "\"");
    }

    /** The JSON is the unscaled value as text. */
    static Value decimal(BigInteger unscaled, int precision, int scale) {
        DecimalData v = DecimalData.fromBigDecimal(new BigDecimal(unscaled, scale), precision, scale);
        return new Value(v, "\"" + unscaled + "\"");
    }

    /** The JSON is [milliseconds, nanoseconds in the millisecond]. */
    static Value timestamp(long ms, int nanos) {
        return new Value(TimestampData.fromEpochMillis(ms, nanos), "[" + ms + "," + nanos + "]");
    }

    static Value array(LogicalType element, List<Value> values) {
        return new Value(Layout.array(element, values), list(values));
    }

    /** The JSON is a list of [key, value]. */
    static Value map(LogicalType key, List<Value> keys, LogicalType element, List<Value> values) {
        BinaryArrayData k = Layout.array(key, keys);
        BinaryArrayData v = Layout.array(element, values);
        StringBuilder json = new StringBuilder();
        for (int i = 0; i < keys.size(); i++) {
            json.append(i == 0 ? "" : ",").append("[").append(keys.get(i).json).append(",").append(values.get(i).json).append("]");
        }
        return new Value(BinaryMapData.valueOf(k, v), "[" + json + "]");
    }

    static Value row(List<LogicalType> types, List<Value> values) {
        return new Value(Layout.row(types, values, RowKind.INSERT), list(values));
    }

    static String list(List<Value> values) {
        return values.stream().map(Value::json).collect(Collectors.joining(",", "[", "]"));
    }

    static String quote(String v) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : v.toCharArray()) {
            boolean plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
            json.append(plain ? "" + c : String.format("\\u%04x", (int) c));
        }
        return json.append("\"").toString();
    }

    static String hex(byte[] v) {
        StringBuilder text = new StringBuilder();
        for (byte b : v) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }
}
