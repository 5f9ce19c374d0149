// Model APIs on loopback that say what a test tells them to.
//
// A test gives a `play`: (conversation) => what the model does next. A conversation
// is read from the request alone, so retries and parallel agents change nothing:
// `opening` is the text it began with, `turn` how often the model has spoken.

import { createServer } from "node:http";

/** Serves `answer(request, body)`; every request that came is kept in `heard`. */
async function serve(answer) {
  const heard = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    let body = null;
    try {
      body = text ? JSON.parse(text) : null;
    } catch {
      // A client that sends no JSON is answered like one that sends nothing.
    }
    heard.push({ method: request.method, path: request.url, body });
    const { type = "application/json", status = 200, text: reply } = answer(request, body);
    response.writeHead(status, { "content-type": type });
    response.end(reply);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, heard, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}

const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const json = (value) => ({ text: JSON.stringify(value) });

// Claude Code: the Messages API.

/** What the model says. */
export const say = (text) => ({ say: text });
/** What the model calls. */
export const use = (tool, input) => ({ use: tool, input });

const words = (content) =>
  typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? block.content?.map?.((inner) => inner.text).join("\n") ?? "").join("\n");

/** What a conversation is, for a play. */
function conversation(body) {
  const messages = body.messages ?? [];
  const spoken = messages.filter((message) => message.role === "assistant").length;
  const openings = messages.filter((message) => message.role === "user").map((message) => words(message.content));
  return { opening: openings[0] ?? "", turn: spoken, latest: openings.at(-1) ?? "", tools: (body.tools ?? []).map((tool) => tool.name) };
}

let calls = 0;

function messageEvents(model, doings) {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const id = `msg_${(calls += 1)}`;
  const shell = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage };
  let text = event("message_start", { message: shell });
  doings.forEach((doing, index) => {
    const isCall = "use" in doing;
    const block = isCall ? { type: "tool_use", id: `toolu_${id}_${index}`, name: doing.use, input: {} } : { type: "text", text: "" };
    const delta = isCall ? { type: "input_json_delta", partial_json: JSON.stringify(doing.input) } : { type: "text_delta", text: doing.say };
    text += event("content_block_start", { index, content_block: block });
    text += event("content_block_delta", { index, delta });
    text += event("content_block_stop", { index });
  });
  const stop_reason = doings.some((doing) => "use" in doing) ? "tool_use" : "end_turn";
  text += event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } });
  return text + event("message_stop", {});
}

/** A Messages API. Requests without tools are the client's own chores. */
export function messagesApi(play) {
  return serve((request, body) => {
    if (request.method !== "POST" || !request.url.startsWith("/v1/messages")) return { status: 404, text: "{}" };
    if (request.url.includes("count_tokens")) return json({ input_tokens: 10 });
    const works = (body?.tools?.length ?? 0) > 1;
    const doings = works ? [play(conversation(body)) ?? say("done")].flat() : [say("ok")];
    return { type: "text/event-stream", text: messageEvents(body?.model, doings) };
  });
}

/** All that a model was told in the requests that came, as one text. */
export const told = (api) => JSON.stringify(api.heard.map((request) => request.body));

// Codex: the Responses API.

/** A Responses API; a play answers with items of that API. */
export function responsesApi(play) {
  return serve((request, body) => {
    if (request.method !== "POST") return json({ data: [], models: [] });
    const input = body?.input ?? [];
    const turn = input.filter((item) => /_call$/.test(item.type) || (item.type === "message" && item.role === "assistant")).length;
    const items = [play({ turn, input })].flat();
    const id = `resp_${(calls += 1)}`;
    let text = event("response.created", { response: { id } });
    items.forEach((item, index) => (text += event("response.output_item.done", { output_index: index, item })));
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    return { type: "text/event-stream", text: text + event("response.completed", { response: { id, usage } }) };
  });
}

// Gemini CLI: generateContent.

/** A Gemini API; a play answers with `say` and `use` like the Messages API's. */
export function geminiApi(play) {
  return serve((request, body) => {
    if (!request.url.includes("enerateContent")) return json({ totalTokens: 10, models: [] });
    const contents = body?.contents ?? [];
    const turn = contents.filter((content) => content.role === "model").length;
    // Chores of its own, like choosing a model, come without tools.
    const works = body?.tools?.length > 0;
    const doings = works ? [play({ turn }) ?? say("done")].flat() : [say("{}")];
    const parts = doings.map((doing) => ("use" in doing ? { functionCall: { name: doing.use, args: doing.input } } : { text: doing.say }));
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    const answer = { candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata };
    if (!request.url.includes("stream")) return json(answer);
    return { type: "text/event-stream", text: `data: ${JSON.stringify(answer)}\n\n` };
  });
}
