// Asks about the weather, calls the tool that the model wants, and prints the deltas of the answer as they come.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

type object = map[string]any

func post(body object) io.ReadCloser {
	raw, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", os.Getenv("OPENAI_BASE_URL")+"/responses", bytes.NewReader(raw))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(answer.Body)
		log.Fatalf("%s: %s", answer.Status, said)
	}
	return answer.Body
}

func main() {
	getWeather := object{
		"type": "function", "name": "get_weather", "strict": false,
		"parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}},
	}
	first := post(object{"model": "gpt-4.1", "input": "The weather in Paris?", "tools": []any{getWeather}})
	defer first.Close()
	var response struct {
		ID     string
		Output []struct {
			CallID string `json:"call_id"`
		}
	}
	if err := json.NewDecoder(first).Decode(&response); err != nil {
		log.Fatal(err)
	}
	output := object{"type": "function_call_output", "call_id": response.Output[0].CallID, "output": "18 degrees"}
	second := post(object{
		"model": "gpt-4.1", "stream": true, "tools": []any{getWeather},
		"previous_response_id": response.ID, "input": []any{output},
	})
	defer second.Close()
	for lines := bufio.NewScanner(second); lines.Scan(); {
		field, data, _ := strings.Cut(lines.Text(), ": ")
		var event struct{ Type, Delta string }
		if field == "data" && json.Unmarshal([]byte(data), &event) == nil && event.Type == "response.output_text.delta" {
			fmt.Print(event.Delta)
		}
	}
	fmt.Println()
}
