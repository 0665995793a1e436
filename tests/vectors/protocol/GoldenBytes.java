import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Reads lines "message version hex", decodes each with Kafka's own classes, encodes it again, and prints
 * "message version hex json": Kafka's bytes, and what Kafka's JSON converter shows of the value.
 * With the argument "older": lines "message version older-version hex"; the value is encoded in the older version, and
 * "message version older-version hex result" printed, where the result is the bytes, or "refused".
 */
public class GoldenBytes {
  static final String[] PACKAGES = {
    "org.apache.kafka.common.message.",
    "org.apache.kafka.coordinator.group.generated.",
    "org.apache.kafka.coordinator.transaction.generated.",
  };

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      String[] parts = line.split(" ", -1);
      short version = Short.parseShort(parts[1]);
      Class<?> type = find(parts[0], "Data", "");
      Class<?> converter = find(parts[0], "DataJsonConverter", "JsonConverter");
      boolean older = args.length > 0;
      ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(parts[older ? 3 : 2]));
      try {
        Object value = type.getConstructor(Readable.class, short.class).newInstance(new ByteBufferAccessor(bytes), version);
        if (bytes.hasRemaining()) throw new IllegalStateException(bytes.remaining() + " bytes left");
        if (older) {
          System.out.println(line + " " + olderBytes((Message) value, Short.parseShort(parts[2])));
          continue;
        }
        ByteBuffer out = MessageUtil.toByteBufferAccessor((Message) value, version).buffer();
        byte[] written = new byte[out.remaining()];
        out.get(written);
        JsonNode json = (JsonNode) converter.getMethod("write", type, short.class).invoke(null, value, version);
        System.out.println(parts[0] + " " + version + " " + HexFormat.of().formatHex(written) + " " + json);
      } catch (Exception e) {
        Throwable why = e.getCause() == null ? e : e.getCause();
        System.out.println(parts[0] + " " + version + " ERROR " + why + " for " + parts[2]);
      }
    }
  }

  static String olderBytes(Message value, short version) {
    try {
      ByteBuffer out = MessageUtil.toByteBufferAccessor(value, version).buffer();
      byte[] written = new byte[out.remaining()];
      out.get(written);
      return HexFormat.of().formatHex(written);
    } catch (UnsupportedVersionException | NullPointerException e) {
      return "refused";
    }
  }

  static Class<?> find(String name, String... suffixes) throws ClassNotFoundException {
    for (String suffix : suffixes)
      for (String pkg : PACKAGES) {
        try {
          return Class.forName(pkg + name + suffix);
        } catch (ClassNotFoundException e) {
          continue;
        }
      }
    throw new ClassNotFoundException(name);
  }
}
