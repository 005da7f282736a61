// Asks about the weather, calls the tool that the model wants, and prints the deltas of the answer as they come.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class Weather {
    static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static final String TOOLS = """
        "tools": [{"type": "function", "name": "get_weather", "strict": false,
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]""";

    static <T> T post(String body, HttpResponse.BodyHandler<T> reader) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("OPENAI_BASE_URL") + "/responses"))
            .header("Authorization", "Bearer " + System.getenv("OPENAI_API_KEY"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<T> answer = CLIENT.send(request, reader);
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(answer.statusCode() + ": " + answer.body());
        }
        return answer.body();
    }

    /** The first value of a member that is a text; a program has a JSON library for it. */
    static String member(String name, String json) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*\"([^\"]*)\"").matcher(json);
        return found.find() ? found.group(1) : "";
    }

    public static void main(String[] arguments) throws Exception {
        String first = post(
            "{\"model\": \"gpt-4.1\", \"input\": \"The weather in Paris?\", " + TOOLS + "}",
            HttpResponse.BodyHandlers.ofString());
        String output = String.format(
            "{\"type\": \"function_call_output\", \"call_id\": \"%s\", \"output\": \"18 degrees\"}",
            member("call_id", first));
        String second = String.format(
            "{\"model\": \"gpt-4.1\", \"stream\": true, \"previous_response_id\": \"%s\", \"input\": [%s], %s}",
            member("id", first), output, TOOLS);
        post(second, HttpResponse.BodyHandlers.ofLines())
            .filter(line -> line.startsWith("data: ") && line.contains("response.output_text.delta"))
            .forEach(line -> System.out.print(member("delta", line)));
        System.out.println();
    }
}
