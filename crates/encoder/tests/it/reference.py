#!/usr/bin/env python3
"""Writes reference.json: word pieces by the package `tokenizers`, vectors by plain NumPy, for texts of every kind.

pip install tokenizers numpy && python3 reference.py > reference.json
"""

import json, os, struct
import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

assets = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets")
words = open(f"{assets}/vocabulary.txt", encoding="utf-8", newline="").read().split("\n")[:-1]
tok = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
tok.normalizer = normalizers.BertNormalizer(lowercase=True)
tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
tok.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
)
tok.enable_truncation(128)

raw = open(f"{assets}/model.safetensors", "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8 : 8 + size])


def part(name):
    begin, end = head[name]["data_offsets"]
    return raw[8 + size + begin : 8 + size + end]


def vector(name):
    return np.frombuffer(part(name), "<f4").astype(np.float64)


def matrix(name, columns):
    both = np.frombuffer(part(name + ".q4"), np.uint8)
    q = np.stack([both & 15, both >> 4], 1).reshape(-1).astype(np.float64) - 8
    scales = np.frombuffer(part(name + ".scales"), "<f2").astype(np.float64)
    return (q.reshape(-1, 32) * scales[:, None]).reshape(-1, columns)


def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * vector(name + ".weight") + vector(
        name + ".bias"
    )


def linear(x, name):
    return x @ matrix(name + ".weight", x.shape[1]).T + vector(name + ".bias")


def gelu(x):
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def embed(ids):
    e = "embeddings."
    x = (
        matrix(e + "word_embeddings.weight", 384)[ids]
        + matrix(e + "position_embeddings.weight", 384)[: len(ids)]
    )
    x = norm(x + matrix(e + "token_type_embeddings.weight", 384)[0], e + "LayerNorm")
    for n in range(3):
        l = f"encoder.layer.{n}."
        q, k, v = (
            linear(x, f"{l}attention.self.{p}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for p in ("query", "key", "value")
        )
        s = q @ k.transpose(0, 2, 1) / np.sqrt(32)
        s = np.exp(s - s.max(-1, keepdims=True))
        s = s / s.sum(-1, keepdims=True)
        a = (s @ v).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(x + linear(a, l + "attention.output.dense"), l + "attention.output.LayerNorm")
        x = norm(
            x + linear(gelu(linear(x, l + "intermediate.dense")), l + "output.dense"), l + "output.LayerNorm"
        )
    m = x.mean(0)
    return m / np.sqrt((m * m).sum())


texts = [
    "a",
    "Send a document",
    "Which vehicles are due for service before the end of the month, and who drives them?",
    "The cat chased the dog. The dog chased the cat.",
    "日本語 中文 مرحبا café 🦀 \u0000 \u0007 naïve İstanbul ŒUVRE ﬁne",
    '"quoted" 12.5% of $3,400 (net) – see https://example.com/a?b=c',
    "word after word " * 200,
    "x" * 101 + " short",
    "a\u00adb\u200bc\ufffdd\te\u3000f «g» ‘h’ ¿i?",
    "снег идёт в Москве, Ελλάδα; ไทย 한국어 हिन्दी",
    "order_id CustomerName unit-price 2024-01-31T08:00:00Z",
]
out = [
    {"text": t, "ids": tok.encode(t).ids, "vector": [round(float(v), 6) for v in embed(tok.encode(t).ids)]}
    for t in texts
]
print("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]")
