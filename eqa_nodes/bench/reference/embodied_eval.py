"""EmbodiedEval (Cheng et al. 2025): table 2, Succ., GcS and SPL of 20 models, of chance and of people."""

from __future__ import annotations

from eqa_nodes.bench.reference.rows import Limit, PublishedColumn, PublishedJudge, PublishedValue, Subset, Table, values
from eqa_nodes.core.types.samples import TASKS

PAPER = "Cheng et al. 2025, EmbodiedEval"
_OF = Table(PAPER, "table 2", "embodied-eval", TASKS, PublishedJudge("predicates, no judge"),
            Subset("all tasks", 328), limit=Limit("24 steps", steps=24))
_COLUMNS = (PublishedColumn(_OF, "succ", "AttrQA"), PublishedColumn(_OF, "succ", "SpatialQA"),
            *(PublishedColumn(_OF, metric, kind) for kind in ("Navigation", "ObjectInteraction", "SocialInteraction")
              for metric in ("succ", "gcs", "task_spl")), PublishedColumn(_OF, "succ"), PublishedColumn(_OF, "gcs"))
_TABLE_2 = """
random | 11.58 7.69 3.45 8.76 3.45 0.00 6.18 0.00 2.94 8.33 2.94 5.49 8.66
human | 98.95 92.31 96.55 97.84 82.28 97.75 99.44 90.73 100.00 100.00 89.96 97.26 97.94
GPT-4o | 35.79 32.69 31.03 42.53 22.23 10.11 24.25 5.94 11.76 26.72 6.74 25.00 32.42
GPT-4o-Mini | 31.58 15.38 27.59 39.51 15.34 2.25 17.42 1.50 5.88 22.06 2.98 17.68 25.58
Gemini-Pro | 27.37 9.62 17.24 25.86 9.78 4.49 12.36 3.00 5.88 18.14 3.44 14.33 19.26
Gemini-Flash | 26.32 13.46 5.17 17.10 3.51 2.25 7.58 0.96 2.94 12.50 1.47 11.59 16.13
Qwen-VL-Max | 37.89 17.31 24.14 30.03 16.87 7.87 24.91 5.62 8.82 22.06 6.86 21.04 28.07
Qwen-VL-Plus | 10.53 11.54 3.45 10.49 3.45 0.00 2.43 0.00 2.94 8.82 1.68 5.79 8.31
InternVL2-40B | 14.74 5.77 6.90 12.93 3.06 0.00 7.68 0.00 5.88 19.12 2.16 7.01 11.54
InternVL2-8B | 13.68 13.46 8.62 18.25 4.04 0.00 7.43 0.00 5.88 18.63 2.45 8.23 13.27
InternVL2-Llama3-76B | 21.05 13.46 3.45 9.48 2.18 0.00 9.08 0.00 2.94 13.73 1.14 9.15 13.79
LLaVA-NEXT-72B | 23.16 5.77 12.07 22.99 7.83 3.37 9.74 2.21 0.00 12.25 0.00 10.67 15.60
LLaVA-OneVision-72B | 26.32 19.23 10.34 23.28 7.53 1.12 7.81 1.12 0.00 12.75 0.00 12.80 18.23
LLaVA-OneVision-7B | 16.84 17.31 5.17 9.05 3.28 1.12 8.15 0.80 2.94 9.80 1.68 9.14 12.45
VILA-40B | 17.89 7.69 0.00 5.75 0.00 0.00 3.93 0.00 0.00 8.58 0.00 6.40 9.53
VILA-8B | 15.79 9.62 1.72 8.91 0.96 0.00 3.46 0.00 2.94 6.37 1.68 6.71 9.27
LLaVA-NeXT-Video-32B-Qwen | 21.05 7.69 6.90 14.08 5.34 0.00 8.61 0.00 2.94 12.01 0.98 8.84 13.39
LLaVA-Video-72B-Qwen2 | 27.37 9.62 15.52 24.28 9.62 1.12 8.05 0.86 0.00 9.80 0.00 12.50 16.95
LLaVA-Video-7B-Qwen2 | 20.00 19.23 3.45 4.89 1.88 1.12 8.80 0.27 0.00 5.15 0.00 9.76 12.63
Oryx-34B | 18.95 3.85 5.17 13.07 4.89 1.12 7.02 1.00 0.00 8.33 0.00 7.32 11.33
VideoLLaMA2-72B | 27.37 9.62 12.07 18.68 6.35 2.25 7.49 1.38 5.88 10.78 2.39 12.81 15.91
VideoLLaMA2-7B | 21.05 9.62 6.90 17.53 4.88 0.00 1.63 0.00 2.94 7.35 1.38 9.20 11.99
"""

NUMBERS: tuple[PublishedValue, ...] = tuple(values(_COLUMNS, _TABLE_2))
