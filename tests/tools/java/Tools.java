import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs Kafka's command line tools one after the other in this JVM, since each would need one or two seconds to start alone.
 * A line of standard input is {"main": CLASS, "arguments": [...], "input": TEXT, "fresh": true|false}; the answer is a line
 * {"status", "output", "errors"}. "fresh" loads the classes anew, for tools that keep counts in static fields.
 * The one argument is the folder of the jars.
 */
public final class Tools {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUTPUT = System.out;
    private static final PrintStream ERRORS = System.err;

    /** Ends a tool that asked for the end of the process. */
    private static final class ExitCalled extends Error {
        private static final long serialVersionUID = 1L;

        ExitCalled() {
            super("exit", null, false, false);
        }
    }

    /** What had been printed when the tool first asked to end: some catch what ends them, complain, and ask again. */
    private record Ending(int status, String output, String errors) {}

    private static final List<Runnable> HOOKS = new ArrayList<>();
    private static ByteArrayOutputStream output = new ByteArrayOutputStream();
    private static ByteArrayOutputStream errors = new ByteArrayOutputStream();
    private static Ending ending;

    private Tools() {}

    public static void main(String[] arguments) throws Exception {
        List<URL> jars = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(arguments[0]), "*.jar")) {
            for (Path file : files) jars.add(file.toUri().toURL());
        }
        ClassLoader shared = newLoader(jars);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode command = JSON.readTree(line);
            ObjectNode answer = run(command.path("fresh").asBoolean() ? newLoader(jars) : shared, command);
            OUTPUT.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            OUTPUT.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static synchronized void note(int status) {
        if (ending != null) return;
        runHooks();
        ending = new Ending(status, output.toString(StandardCharsets.UTF_8), errors.toString(StandardCharsets.UTF_8));
    }

    private static void runHooks() {
        List<Runnable> hooks = new ArrayList<>(HOOKS);
        HOOKS.clear();
        hooks.forEach(Runnable::run);
    }

    /** A loader whose Exit does not end this JVM, and whose shutdown hooks run at the end of the tool. */
    private static ClassLoader newLoader(List<URL> jars) throws Exception {
        ClassLoader loader = new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        Class<?> exit = loader.loadClass("org.apache.kafka.common.utils.internals.Exit");
        for (String setter : List.of("setExitProcedure", "setHaltProcedure")) {
            replace(exit, setter, arguments -> {
                note((Integer) arguments[0]);
                throw new ExitCalled();
            });
        }
        replace(exit, "setShutdownHookAdder", arguments -> HOOKS.add((Runnable) arguments[1]));
        return loader;
    }

    private interface Replacement {
        void call(Object[] arguments);
    }

    private static void replace(Class<?> exit, String setter, Replacement replacement) throws Exception {
        for (Method method : exit.getMethods()) {
            if (!method.getName().equals(setter)) continue;
            Class<?> type = method.getParameterTypes()[0];
            method.invoke(null, Proxy.newProxyInstance(exit.getClassLoader(), new Class<?>[] {type}, (self, called, arguments) -> {
                replacement.call(arguments);
                return null;
            }));
        }
    }

    private static ObjectNode run(ClassLoader loader, JsonNode command) throws Exception {
        InputStream stdin = System.in;
        output = new ByteArrayOutputStream();
        errors = new ByteArrayOutputStream();
        ending = null;
        System.setIn(new ByteArrayInputStream(command.path("input").asText("").getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
        Thread.currentThread().setContextClassLoader(loader);
        try {
            List<String> arguments = new ArrayList<>();
            command.get("arguments").forEach(argument -> arguments.add(argument.asText()));
            Method main = loader.loadClass(command.get("main").asText()).getMethod("main", String[].class);
            main.invoke(null, (Object) arguments.toArray(new String[0]));
            note(0);
        } catch (InvocationTargetException error) {
            if (ending == null) error.getCause().printStackTrace();
            note(1);
        } finally {
            System.setIn(stdin);
            System.setOut(OUTPUT);
            System.setErr(ERRORS);
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.put("status", ending.status());
        answer.put("output", ending.output());
        answer.put("errors", ending.errors());
        return answer;
    }
}
