// OpenAI's own client for JavaScript asks for responses: prints what it understood, as JSON.
//   node openai_responses.mjs BASE_URL
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "any", maxRetries: 0 });
const order = { model: "tiny", temperature: 0, max_output_tokens: 8, instructions: "You tell stories.",
  input: "Tell me one." };

const whole = await client.responses.create(order);
const streamed = await client.responses.stream(order).finalResponse();
let refused = null;
try {
  await client.responses.create({ ...order, store: true });
} catch (error) {
  refused = { status: error.status, param: error.param };
}
console.log(JSON.stringify({ whole: whole.output_text, streamed: streamed.output_text, status: streamed.status,
  refused }));
