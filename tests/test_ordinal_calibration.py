"""Simulation-based calibration of the ordinal model (Talts et al., 2018). Minutes: evidence."""

import numpy as np
import pytest
from ordinal_panels import draw_panel
from scipy import stats

from bayesjudge.engines.draws import Sampling
from bayesjudge.engines.nuts_ordinal import sample_ordinal
from bayesjudge.marginal.cumulative.score_scale import score_scale
from bayesjudge.ordinal.layout import lay_out_ordinal
from bayesjudge.ordinal.parameters import places, to_parameters
from bayesjudge.readers import read_scores
from bayesjudge.specs import read_spec

SIZES = {"n": 12, "m": 2, "K": 3}
LEVELS = 4
REPLICATES, DRAWS, THINNED = 200, 500, 99


def prior_draw(spec, rng):
    """One draw of the parameters of one evaluated model from the priors of a specification."""
    distribution = {"logit": stats.logistic, "probit": stats.norm}[spec.link]
    shares = rng.dirichlet(np.full(LEVELS, spec.threshold_prior.kwargs["total"] / LEVELS))
    sigma = {name: abs(rng.normal(0, prior.kwargs["sigma"])) for name, prior in spec.sd.items()}
    offsets = rng.normal(0, sigma["judge"], SIZES["K"])
    unit = np.sqrt(1 + (sigma["scenario"] ** 2 + sigma["generation"] ** 2) / distribution.var())
    return {
        "thresholds": distribution.ppf(np.cumsum(shares)[:-1]) * unit,
        "sigma_scenario": sigma["scenario"],
        "sigma_generation": sigma["generation"],
        "offsets": offsets - offsets.mean(),
    }


def quantities(parameters, layout):
    """What is ranked, by name: latent parameters, and what is reported on the score scale."""
    scale = score_scale(
        np.ascontiguousarray(parameters.by_judge[:, 0]),
        parameters.effects[:, 0, 0].copy(),
        parameters.effects[:, 0, 1].copy(),
        layout.levels.values,
        layout.spec.link,
    )
    return {
        "sigma_scenario": parameters.effects[:, 0, 0],
        "sigma_generation": parameters.effects[:, 0, 1],
        "offset": parameters.offset[:, 0, 0],
        "lowest threshold": parameters.threshold[:, 0],
        "highest threshold": parameters.threshold[:, -1],
        "mu": scale.mu,
        "gamma": scale.gamma[:, 0],
    } | {f"variance {k}": scale.variance[:, k] for k in range(6)}


def table_from_the_prior(spec, rng, keep_unused):
    """Draw parameters and a table until all levels occur, or until one doesn't.

    Which tables are looked at depends on them alone, so the truth is still a draw from their
    posterior.
    """
    while True:
        truth = prior_draw(spec, rng)
        frame = draw_panel(
            *SIZES.values(),
            **truth,
            values=range(LEVELS),
            link=spec.link,
            seed=int(rng.integers(2**31)),
        )
        used = frame["score"].nunique()
        if used == LEVELS and not keep_unused:
            return truth, lay_out_ordinal(read_scores(frame, levels=range(LEVELS)), spec)
        if 1 < used < LEVELS and keep_unused:
            scores = read_scores(frame, levels=range(LEVELS))
            return truth, lay_out_ordinal(scores, spec, keep_unused_levels=True)


@pytest.mark.evidence
@pytest.mark.parametrize("keep_unused", [False, True])
@pytest.mark.parametrize("name", ["ordinal", "ordinal_probit"])
def test_ranks_of_the_truth_among_posterior_draws_are_uniform(name, keep_unused):
    spec = read_spec(name)
    rng = np.random.default_rng(1)
    ranks = []
    for replicate in range(REPLICATES):
        truth, layout = table_from_the_prior(spec, rng, keep_unused)
        where = places(layout)
        sampled = sample_ordinal(layout, Sampling(replicate, chains=2, draws=DRAWS, tune=200))
        vectors = sampled.values.reshape(-1, where.size)
        kept = vectors[np.linspace(0, len(vectors) - 1, THINNED).astype(int)]
        draws = quantities(to_parameters(layout, where, kept), layout)
        by_judge = (truth["thresholds"][None, :] - truth["offsets"][:, None])[None, None]
        exact = to_parameters(layout, where, kept[:1])._replace(
            threshold=truth["thresholds"][None],
            offset=truth["offsets"][None, None],
            by_judge=by_judge,
            effects=np.array([[[truth["sigma_scenario"], truth["sigma_generation"]]]]),
        )
        true = quantities(exact, layout)
        ranks.append({key: int((draws[key] < true[key][0]).sum()) for key in true})
    for key in ranks[0]:
        counts = np.bincount([rank[key] * 10 // (THINNED + 1) for rank in ranks], minlength=10)
        assert stats.chisquare(counts).pvalue > 1e-4, (key, counts)
