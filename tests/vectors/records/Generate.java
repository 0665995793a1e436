// Writes the batch-*.bin and legacy-*.bin vectors beside it with Apache Kafka's own classes. See README.md.
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.compress.Lz4BlockOutputStream;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;

public class Generate {
  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] batch(Compression compression, TimestampType type, int count) {
    MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 20), (byte) 2, compression, type, 100L,
        1800000000000L, 1234567890123L, (short) 5, 77, false, 9);
    for (int i = 0; i < count; i++) {
      byte[] key = i % 3 == 0 ? null : bytes(i % 3 == 1 ? "" : "key-" + i);
      byte[] value = i % 4 == 3 ? null : bytes("value ".repeat(i % 50) + "é");
      Header[] headers = i % 2 == 0
          ? new Header[] {new RecordHeader("h", bytes("x" + i)), new RecordHeader("", (byte[]) null), new RecordHeader("h", new byte[0])}
          : new Header[0];
      builder.append(1700000000000L + i * 1000L - (i == 5 ? 100000L : 0), key, value, headers);
    }
    ByteBuffer buffer = builder.build().buffer();
    byte[] all = new byte[buffer.remaining()];
    buffer.get(all);
    return all;
  }

  static byte[] lz4(byte[] plain, boolean oldChecksum, boolean blockChecksum) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = new Lz4BlockOutputStream(bytes, Lz4BlockOutputStream.BLOCKSIZE_64KB, 9, blockChecksum, oldChecksum)) {
      out.write(plain);
    }
    return bytes.toByteArray();
  }

  public static void main(String[] arguments) throws Exception {
    Path to = Path.of(arguments[0]);
    Files.write(to.resolve("batch-none.bin"), batch(Compression.NONE, TimestampType.CREATE_TIME, 40));
    Files.write(to.resolve("batch-gzip.bin"), batch(Compression.gzip().build(), TimestampType.CREATE_TIME, 40));
    Files.write(to.resolve("batch-snappy.bin"), batch(Compression.snappy().build(), TimestampType.CREATE_TIME, 400));
    Files.write(to.resolve("batch-lz4.bin"), batch(Compression.lz4().build(), TimestampType.CREATE_TIME, 400));
    Files.write(to.resolve("batch-zstd.bin"), batch(Compression.zstd().build(), TimestampType.CREATE_TIME, 40));
    Files.write(to.resolve("batch-appendtime.bin"), batch(Compression.NONE, TimestampType.LOG_APPEND_TIME, 3));
    Files.write(to.resolve("legacy-old-checksum.lz4"), lz4(bytes("old header checksum ".repeat(20)), true, false));
    Files.write(to.resolve("legacy-block-checksum.lz4"), lz4(bytes("old header checksum ".repeat(20)), false, true));
  }
}
