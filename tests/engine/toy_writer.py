"""A generator small enough for tests: a recurrent network that writes two codes per step, and its judges."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lagoon.engine.tokens.schema import Drawn, Sizes, uniforms

VOCABULARY, WIDTH = 5, 8


class Writer(nn.Module):
    """p(codes | prompt): the state of a step is made of all codes before it."""

    def __init__(self, prompts=3, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.prompt = nn.Parameter(0.3 * torch.randn(prompts, WIDTH))
        self.code = nn.Parameter(0.3 * torch.randn(VOCABULARY, WIDTH))
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.head = nn.ModuleList(nn.Linear(WIDTH, VOCABULARY) for _ in range(2))

    def begin(self, prompts):
        return torch.tanh(self.prompt[prompts])

    def advance(self, state, codes):
        return torch.tanh(self.mix(state) + self.code[codes].sum(-2))

    def logits(self, state, group, before=None):
        return self.head[group](state if before is None else state + self.code[before])

    def log_probs(self, codes, packed, lengths, prompts):
        """Runs sequence by sequence, since it is the meaning that counts here."""
        found = torch.zeros(codes.shape)
        for index in packed.sequence[packed.real].unique().tolist():
            mine = packed.sequence == index
            written = codes[mine]
            assert packed.step[mine].tolist() == list(range(int(lengths[index])))
            state, rows = self.begin(prompts[index]), []
            for step in written:
                first = torch.log_softmax(self.logits(state, 0), -1)[step[0]]
                second = torch.log_softmax(self.logits(state, 1, step[0]), -1)[step[1]]
                rows.append(torch.stack([first, second]))
                state = self.advance(state, step)
            found = found.masked_scatter(mine[..., None].expand_as(found), torch.stack(rows))
        return found


@dataclass
class Lane:
    sequence: object
    random: np.ndarray
    state: torch.Tensor
    codes: list


class WriterSampler:
    """Keeps a state per sequence, which new parameters make stale."""

    def __init__(self, lanes, seconds=0.0):
        self.model, self.lanes, self.seconds, self.open = Writer(), lanes, seconds, {}

    @property
    def running(self):
        return list(self.open)

    def take(self, tensors):
        self.model.load_state_dict(dict(tensors))
        for lane in self.open.values():
            lane.state = self.model.begin(lane.sequence.prompt)
            for codes in lane.codes:
                lane.state = self.model.advance(lane.state, torch.tensor(codes))

    def begin(self, sequence, seed):
        assert len(self.open) < self.lanes
        state = self.model.begin(sequence.prompt)
        self.open[sequence.number] = Lane(sequence, uniforms(seed, sequence, 2), state, [])

    @torch.no_grad()
    def step(self):
        time.sleep(self.seconds)
        rows = [self._one(lane) for lane in self.open.values()]
        return Drawn(torch.tensor([codes for codes, _ in rows]), torch.tensor([logp for _, logp in rows]))

    def _one(self, lane):
        codes, logps = [], []
        for group in range(2):
            before = torch.tensor(codes[0]) if group else None
            logp = torch.log_softmax(self.model.logits(lane.state, group, before), -1)
            share = logp.exp().cumsum(0)
            code = int((share / share[-1] <= lane.random[len(lane.codes), group]).sum())
            codes.append(code)
            logps.append(float(logp[code]))
        lane.codes.append(codes)
        lane.state = self.model.advance(lane.state, torch.tensor(codes))
        return codes, logps

    def drop(self, number):
        del self.open[number]


def share_of_wanted(sequence):
    """Half for each code: how many are the prompt's own number."""
    return (sequence.codes == sequence.prompt).mean(0) / 2


@dataclass(frozen=True)
class Writing:
    """A task for the engine."""

    trouble: str = ""
    """What the judge does: fail at every seventh sequence, die at it, hang at it, or fail always."""
    folder: str = ""
    seconds: float = 0.0
    """Time that a token step takes."""
    sizes = Sizes(steps=12, codes=2)
    prompts = ("zeros", "ones", "twos")
    terms = ("first", "second")

    def length(self, prompt, draw):
        return 2 + int(draw**3 * 10.99)

    def model(self):
        return Writer()

    def sampler(self, lanes):
        return WriterSampler(lanes, self.seconds)

    def scorer(self):
        return self.judge if self.trouble else share_of_wanted

    def judge(self, sequence):
        if self.trouble == "always" or (self.trouble == "fail" and sequence.number % 7 == 0):
            raise RuntimeError("it fell over")
        if self.trouble == "nan":
            return np.array([np.nan, 0.0])
        if self.trouble == "die" and sequence.number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "hang" and sequence.number == 7:
            time.sleep(60)
        return share_of_wanted(sequence)

    def facts(self):
        return {"prompts": list(self.prompts)}
