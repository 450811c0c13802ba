// OpenAI's own client for JavaScript against a server: prints what it understood, as JSON.
//   node openai_client.mjs BASE_URL PROMPT...
import OpenAI from "openai";

const [baseURL, ...prompts] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
const order = { model: "tiny", temperature: 0, max_tokens: 24 };

async function streamed(prompt) {
  let text = "";
  const stream = await client.completions.create({ ...order, prompt, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.text ?? "";
  return text;
}

async function conversation() {
  const messages = [{ role: "user", content: "Tell me a story." }];
  const stream = client.chat.completions.stream({ ...order, messages });
  return { streamed: await stream.finalContent(),
    whole: (await client.chat.completions.create({ ...order, messages })).choices[0].message.content };
}

async function refused() {
  try {
    await client.completions.create({ ...order, prompt: "x", suffix: "y" });
  } catch (error) {
    return { status: error.status, param: error.param, kind: error.constructor.name };
  }
  return null;
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);
console.log(JSON.stringify({
  models, texts: await Promise.all(prompts.map(streamed)), chat: await conversation(),
  refused: await refused() }));
