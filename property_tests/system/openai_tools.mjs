// OpenAI's own client for JavaScript calls a function that a model of a server asks for: prints what it
// understood, as JSON.
//   node openai_tools.mjs BASE_URL
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "any", maxRetries: 0 });
const parameters = { type: "object", properties: { city: { type: "string", enum: ["Bonn", "Oslo"] } },
  required: ["city"], additionalProperties: false };
const tool = { type: "function", function: { name: "get_weather", description: "Weather.", parameters, strict: true } };
const messages = [{ role: "user", content: "What is the weather?" }];
const order = { model: "tiny", seed: 7, max_tokens: 200, tools: [tool], tool_choice: "required",
  parallel_tool_calls: false };

const { choices: [whole] } = await client.chat.completions.create({ ...order, messages });
const stream = client.chat.completions.stream({ ...order, messages });
const streamed = (await stream.finalChatCompletion()).choices[0];
const call = whole.message.tool_calls[0];
messages.push(whole.message, { role: "tool", tool_call_id: call.id, content: "sunny" });
const last = await client.chat.completions.create({ ...order, messages, tool_choice: "none", max_tokens: 8 });
messages.push(last.choices[0].message);
const said = ({ name, arguments: text }) => ({ name, arguments: text });
console.log(JSON.stringify({
  whole: said(call.function), streamed: said(streamed.message.tool_calls[0].function),
  reason: streamed.finish_reason, roles: messages.map((message) => message.role) }));
