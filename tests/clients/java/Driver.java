import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Drives Apache Kafka's own Java client by the lines protocol of ../README.md. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Member> MEMBERS = new HashMap<>();

    private Driver() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode command = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            answer.put("id", command.get("id").asInt());
            try {
                perform(command, answer);
            } catch (Exception error) {
                Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
                Errors known = Errors.forException(cause);
                ObjectNode line2 = answer.putObject("error");
                line2.put("code", known == Errors.UNKNOWN_SERVER_ERROR ? -1 : known.code());
                line2.put("message", cause.toString());
            }
            write(answer);
        }
        System.exit(0);
    }

    private static void perform(JsonNode command, ObjectNode answer) throws Exception {
        switch (command.get("op").asText()) {
            case "hello" -> answer.put("client", "Java kafka-clients").put("version", version());
            case "produce" -> produce(command, answer);
            case "consume" -> consume(command, answer);
            case "join" -> MEMBERS.put(command.get("consumer").asText(), new Member(command));
            case "commit" -> MEMBERS.get(command.get("consumer").asText()).commit(command.get("offsets"));
            case "leave" -> MEMBERS.remove(command.get("consumer").asText()).leave();
            default -> throw new IllegalArgumentException("no operation " + command.get("op"));
        }
    }

    private static String version() throws Exception {
        Properties properties = new Properties();
        properties.load(KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties"));
        return properties.getProperty("version");
    }

    private static void produce(JsonNode command, ObjectNode answer) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", command.get("bootstrap").asText());
        // "default" leaves the client as it comes: idempotent, acks=all, no codec.
        if (!command.path("defaults").asBoolean(false)) {
            settings.put("client.id", command.path("clientId").asText("rowlog-tests"));
            settings.put("acks", command.get("acks").asText());
            settings.put("compression.type", command.get("codec").asText());
            settings.put("enable.idempotence", command.get("idempotent").asBoolean());
            settings.put("linger.ms", 50);
            settings.put("max.request.size", 20_000_000);
            settings.put("batch.size", 1_000_000);
            settings.put("retry.backoff.ms", 50);
        }
        ArrayNode offsets = answer.putArray("offsets");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode record : command.get("records")) {
                sent.add(producer.send(recordOf(command.get("topic").asText(), record)));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) {
                RecordMetadata meta = one.get(40, TimeUnit.SECONDS);
                if (meta.hasOffset()) offsets.add(meta.offset());
                else offsets.addNull();
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> recordOf(String topic, JsonNode record) {
        Integer partition = record.hasNonNull("partition") ? record.get("partition").asInt() : null;
        Long timestamp = record.hasNonNull("timestamp") ? record.get("timestamp").asLong() : null;
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : record.get("headers")) {
            headers.add(new RecordHeader(header.get(0).asText(), decode(header.get(1))));
        }
        return new ProducerRecord<>(topic, partition, timestamp, decode(record.get("key")), decode(record.get("value")), headers);
    }

    private static Map<String, Object> consumerSettings(JsonNode command) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", command.get("bootstrap").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("fetch.max.wait.ms", 100);
        return settings;
    }

    private static KafkaConsumer<byte[], byte[]> newConsumer(Map<String, Object> settings) {
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void consume(JsonNode command, ObjectNode answer) {
        Map<Integer, Integer> left = new HashMap<>();
        command.get("counts").fields().forEachRemaining(e -> left.put(Integer.valueOf(e.getKey()), e.getValue().asInt()));
        String topic = command.get("topic").asText();
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.nanoTime() + 30_000_000_000L;
        try (KafkaConsumer<byte[], byte[]> consumer = newConsumer(consumerSettings(command))) {
            List<TopicPartition> places = left.keySet().stream().map(p -> new TopicPartition(topic, p)).toList();
            consumer.assign(places);
            consumer.seekToBeginning(places);
            while (left.values().stream().anyMatch(count -> count > 0)) {
                if (System.nanoTime() > deadline) throw new IllegalStateException("still to come after 30 s: " + left);
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    left.merge(record.partition(), -1, Integer::sum);
                    records.add(record);
                }
            }
        }
        records.sort((a, b) -> a.partition() != b.partition() ? a.partition() - b.partition() : Long.compare(a.offset(), b.offset()));
        ArrayNode lines = answer.putArray("records");
        for (ConsumerRecord<byte[], byte[]> record : records) lines.add(lineOf(record));
    }

    private static ObjectNode lineOf(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode line = JSON.createObjectNode();
        line.put("partition", record.partition()).put("offset", record.offset()).put("timestamp", record.timestamp());
        line.put("key", encode(record.key())).put("value", encode(record.value()));
        ArrayNode headers = line.putArray("headers");
        for (Header header : record.headers()) headers.addArray().add(header.key()).add(encode(header.value()));
        return line;
    }

    private static String encode(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }

    private static byte[] decode(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static synchronized void write(ObjectNode line) throws Exception {
        System.out.write((JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    /** One group member. The consumer is for one thread only, so commits are handed to the polling one. */
    private static final class Member implements Runnable {
        private final String name;
        private final String topic;
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
        private final Thread thread = new Thread(this);
        private volatile boolean leaving;

        Member(JsonNode command) {
            name = command.get("consumer").asText();
            topic = command.get("topic").asText();
            Map<String, Object> settings = consumerSettings(command);
            settings.put("group.id", command.get("group").asText());
            settings.put("session.timeout.ms", command.path("sessionMs").asInt(6000));
            settings.put("heartbeat.interval.ms", 300);
            boolean cooperative = command.get("assignor").asText().equals("cooperative");
            Class<?> assignor = cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class;
            settings.put("partition.assignment.strategy", assignor.getName());
            if (command.hasNonNull("instanceId")) settings.put("group.instance.id", command.get("instanceId").asText());
            consumer = newConsumer(settings);
            consumer.subscribe(List.of(topic));
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void run() {
            try {
                Set<Integer> before = Set.of();
                while (!leaving) {
                    var batch = consumer.poll(Duration.ofMillis(50));
                    Set<Integer> now = new TreeSet<>();
                    for (TopicPartition place : consumer.assignment()) now.add(place.partition());
                    if (!now.equals(before)) {
                        ObjectNode line = event("assignment");
                        ArrayNode partitions = line.putArray("partitions");
                        now.forEach(partitions::add);
                        write(line);
                        before = now;
                    }
                    for (ConsumerRecord<byte[], byte[]> record : batch) {
                        ObjectNode line = event("record");
                        line.set("record", lineOf(record));
                        write(line);
                    }
                    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) task.run();
                }
                consumer.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }

        private ObjectNode event(String kind) {
            return JSON.createObjectNode().put("event", kind).put("consumer", name);
        }

        void commit(JsonNode offsets) throws Exception {
            Map<TopicPartition, OffsetAndMetadata> places = new HashMap<>();
            offsets.fields().forEachRemaining(e ->
                places.put(new TopicPartition(topic, Integer.parseInt(e.getKey())), new OffsetAndMetadata(e.getValue().asLong())));
            CompletableFuture<Void> done = new CompletableFuture<>();
            tasks.add(() -> {
                try {
                    consumer.commitSync(places);
                    done.complete(null);
                } catch (Exception error) {
                    done.completeExceptionally(error);
                }
            });
            done.get(20, TimeUnit.SECONDS);
        }

        void leave() throws InterruptedException {
            leaving = true;
            thread.join(20_000);
        }
    }
}
