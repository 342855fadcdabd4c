package rows;

import java.util.List;
import org.apache.flink.table.data.binary.BinaryArrayData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryArrayWriter;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.data.writer.BinaryWriter;
import org.apache.flink.table.runtime.typeutils.InternalSerializers;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.apache.flink.types.RowKind;

/** Writes values with Flink's writers, called as the code that Flink SQL generates calls them. */
final class Layout {
    private Layout() {}

    static BinaryRowData row(List<LogicalType> types, List<Value> values, RowKind kind) {
        BinaryRowData row = new BinaryRowData(types.size());
        BinaryRowWriter writer = new BinaryRowWriter(row);
        writer.reset();
        writer.writeRowKind(kind);
        for (int i = 0; i < types.size(); i++) {
            if (values.get(i).flink() == null) {
                setNull(writer, i, types.get(i));
            } else {
                write(writer, i, values.get(i), types.get(i));
            }
        }
        writer.complete();
        return row;
    }

    /** Generated code writes the NULL of a wide value as a value, which keeps its room. */
    private static void setNull(BinaryRowWriter writer, int i, LogicalType type) {
        switch (type.getTypeRoot()) {
            case DECIMAL -> {
                if (LogicalTypeChecks.getPrecision(type) > 18) {
                    writer.writeDecimal(i, null, LogicalTypeChecks.getPrecision(type));
                } else {
                    writer.setNullAt(i);
                }
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                if (LogicalTypeChecks.getPrecision(type) > 3) {
                    writer.writeTimestamp(i, null, LogicalTypeChecks.getPrecision(type));
                } else {
                    writer.setNullAt(i);
                }
            }
            default -> writer.setNullAt(i);
        }
    }

    static BinaryArrayData array(LogicalType element, List<Value> values) {
        BinaryArrayData array = new BinaryArrayData();
        int width = BinaryArrayData.calculateFixLengthPartSize(element);
        BinaryArrayWriter writer = new BinaryArrayWriter(array, values.size(), width);
        for (int i = 0; i < values.size(); i++) {
            if (values.get(i).flink() == null) {
                writer.setNullAt(i, element);
            } else {
                write(writer, i, values.get(i), element);
            }
        }
        writer.complete();
        return array;
    }

    private static void write(BinaryWriter writer, int i, Value value, LogicalType type) {
        BinaryWriter.write(writer, i, value.flink(), type, InternalSerializers.create(type));
    }
}
