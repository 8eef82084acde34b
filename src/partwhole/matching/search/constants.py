"""Constants of the search. They were chosen on training pairs; `docs/lab-notebook.md` says how.

Lengths are in √area of the whole. The rule of confidence was fitted with these values: see
`partwhole.matching.confidence.rule`.
"""

from __future__ import annotations

# --- which candidates are tried

# number of yaw angles while the vertical is searched for; all of them once it is known
FEW_YAWS = 4
# yaw angles are first scored on this many vertices; those whose score is worse than the best by more than this are dropped
SAMPLED_VERTICES, HOPELESS = 700, 1.0
# number of best candidates that are aligned rigidly
ALIGNED_CANDIDATES = 2
# and how often, at least: the position of a scan is unknown, and a scan in any orientation need not lie along an axis
LEAST_ALIGNMENTS, ALIGNMENTS_ANY_WAY_UP = 1, 2
# two maps are different if their images are farther apart than this on average
DIFFERENT_MAPS = 0.15

# --- place and distances, for features that do not depend on orientation: see `partwhole.matching.search.placement`

# weight of nearness relative to the cosine of features, and its range (a and b); and the number of rounds, in which the part
# is aligned from the second one on
PLACE_WEIGHT, PLACE_WIDTH, PLACE_STEPS = 0.25, 0.25, 3
# the whole is divided into this many regions, each offers its most similar vertex, and this many of these are kept
REGIONS, PLACES = 200, 12
# a and b of the tolerance √(a² + (b d)²) of a distance d, because poses change distances
DISTANCE_TOLERANCE = (0.03, 0.1)
# number of sampled vertices whose images have to agree, and the weight of agreement relative to the cosine of features, for
# these vertices and for all others
SAMPLES, SAMPLE_WEIGHT, AGREEMENT_WEIGHT = 150, 2.0, 1.0
# temperature of the probabilities of places, and number of mean field iterations
AGREEMENT_SHARPNESS, AGREEMENT_STEPS = 0.1, 30

# --- when something else is tried: another vertical, another scale

# a ratio of distances above the first is more than pose and noise explain; above the second, the scale it suggests is tried
STRETCHED, OTHER_SCALE = 1.25, 1.15
# another scale, or another vertical than the assumed one, must have a better score by this margin
BETTER = 0.1
# the same for a scale that the distances do not suggest: a part that fits nowhere fits about as badly at any scale
CLEARLY_BETTER = 1.0
# another vertical is tried below this agreement of curvature, or below this share of the best possible score
LOW_AGREEMENT, LOW_SCORE_SHARE = 0.7, 0.9
# below this mean cosine the features found nothing similar, and another scale is tried; this has no effect with models that
# depend on orientation, nor on pairs at the right scale that are matched well
UNLIKE = 0.6
# a guessed scale is corrected by at most this factor
LARGEST_CORRECTION = 1.35

# --- landmarks; without effect if there are none, and no rule of confidence depends on them. Chosen on generated bodies: see
# `docs/lab-notebook.md`

# weight of the consistency with a landmark relative to the cosine of features
LANDMARK_WEIGHT = 0.5
# weight in the score of a landmark that the map misses; that of the curvature correlation is 10
LANDMARK_SCORE = 10.0
# range within which vertices follow a landmark in lateration, and show whether a map misses it; and its weight in lateration,
# where all other anchors together have weight 1
LANDMARK_REACH, LANDMARK_PULL = 0.15, 0.5
# landmarks contradict each other if their distances differ by more than this many tolerances
LANDMARK_CONTRADICTS = 3.0
# for rigid starts: weight of normals relative to positions, and how far from a line three landmarks have to be
LANDMARK_NORMALS, LANDMARK_SPREAD = 0.1, 0.05
