// ai_sdk.mjs BASE MODEL NPM_FOLDER: Vercel's AI SDK does the five things of clients.py; prints a JSON list of outcomes.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [base, model, folder] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/package.json`));
const load = name => import(pathToFileURL(require.resolve(name)).href);
const { generateObject, generateText, stepCountIs, streamText, tool } = await load('ai');
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
const { z } = await load('zod');

const provider = createOpenAICompatible({
  name: 'steward',
  baseURL: `${base}/v1`,
  apiKey: 'none',
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const chosen = { model: provider(model), maxRetries: 0 };
const expect = (held, found) => {
  if (!held) throw new Error(`unexpected: ${JSON.stringify(found)}`.slice(0, 400));
};
const get_weather = tool({
  description: 'Weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => ({ celsius: 21 }),
});

const things = [
  async () => {
    const got = await generateText({ ...chosen, system: 'Be kind.', prompt: 'Please greet me warmly.' });
    expect(got.text === 'Hello from the model.' && got.usage.inputTokens === 11, got.text);
  },
  async () => {
    const parts = [];
    const result = streamText({ ...chosen, system: 'Be kind.', prompt: 'Please greet me warmly.' });
    for await (const part of result.textStream) parts.push(part);
    expect(parts.join('') === 'Hello from the model.' && parts.length > 1, parts);
  },
  async () => {
    const got = await generateText({
      ...chosen,
      prompt: 'What is the weather in Paris?',
      tools: { get_weather },
      stopWhen: stepCountIs(3),
    });
    expect(got.text.includes('21'), got.text);
  },
  async () => {
    const schema = z.object({ name: z.string(), age: z.number().int() });
    const got = await generateObject({ ...chosen, schema, prompt: 'Describe a person.' });
    expect(got.object.name === 'Ada' && got.object.age === 36, got.object);
  },
  async () => {
    const messages = [
      { role: 'user', content: 'Hello, my name is Ada, remember it.' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'What is my name?' },
    ];
    const got = await generateText({ ...chosen, messages });
    expect(got.text.includes('Ada'), got.text);
  },
];
const outcomes = [];
for (const thing of things) {
  outcomes.push(
    await thing().then(
      () => 'ok',
      error => `${error.name}: ${error.message}`,
    ),
  );
}
console.log(JSON.stringify(outcomes));
