// The calls that wait for a person. A decision names the digest of exactly what is shown here; the
// server refuses it if the call has another one, and asks the person at the client before it calls.
function decided(card, text) {
  for (const button of card.querySelectorAll("button")) button.disabled = true;
  card.querySelector("[role=status]").textContent = text;
  reportSize();
}

async function decide(card, waiting, decision) {
  decided(card, "Sent…");
  const decisionOf = { task: waiting.task, digest: waiting.digest, decision };
  try {
    const result = await request("tools/call", { name: "approvals_decide", arguments: decisionOf });
    const words = (result.content || []).filter((part) => part.type === "text");
    decided(card, words.map((part) => part.text).join("\n") || "Done.");
  } catch (error) {
    decided(card, error.message);
  }
}

function card(waiting) {
  const made = element("article");
  made.append(element("h2", waiting.tools?.length ? waiting.tools.join(", ") : waiting.tool));
  made.append(element("p", waiting.reason));
  made.append(element("pre", JSON.stringify(waiting.arguments, null, 2)));
  made.append(element("p", `Digest ${waiting.digest}`, "note"));
  made.append(element("p", `For ${waiting.user}, until ${waiting.until}`, "note"));
  const actions = element("div", null, "actions");
  for (const [label, decision] of [["Approve", "approve"], ["Reject", "reject"]]) {
    const button = element("button", `${label} ${waiting.tool}`);
    button.type = "button";
    button.addEventListener("click", () => decide(made, waiting, decision));
    actions.append(button);
  }
  const status = element("p", "", "note");
  status.setAttribute("role", "status");
  made.append(actions, status);
  return made;
}

start("steward-approvals", (result) => {
  const main = document.querySelector("main");
  const waiting = result.structuredContent?.approvals || [];
  main.replaceChildren(...waiting.map(card));
  if (!waiting.length) main.append(element("p", "Nothing waits for a decision.", "answer"));
});
