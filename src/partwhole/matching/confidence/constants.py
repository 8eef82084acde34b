"""Constants of confidence, all in one place; lengths are in √area of the whole.

The rule that makes confidence of cues was fitted with these values: it carries their hash, and is refused with others. See
`presupposed` in `partwhole.matching.confidence.rule`.
"""

from __future__ import annotations

# --- what confidence means

# the image of a vertex counts as right if it is nearer to the truth than this
RIGHT = 0.05
# a vertex is called doubtful below this confidence
DOUBTFUL = 0.5

# --- cues

# radii within which distances are compared
CLOSE, NEAR, FAR = 0.06, 0.12, 0.25
# temperature of the soft map whose spread is a cue
SPREAD_TEMPERATURE = 0.02
# a candidate counts half as much if its score is worse by 0.3 ln 2
RIVAL_SHARPNESS = 0.3
# cues that are lengths enter by their logarithms; smaller ones than this say no more
SMALLEST_LENGTH = 0.005
# cues more unusual than this many standard deviations count as this
MOST_UNUSUAL = 4.0

# --- the map as a whole

# below this agreement of curvature, or above this distortion, few maps are right
POOR_AGREEMENT, POOR_DISTORTION = 0.5, 0.12
# a map with more of its area reversed than this is probably a mirror image
MIRRORED = 0.5
# images of triangles smaller than this share of what they should be say nothing about orientation
COLLAPSED = 0.05
# an edge of the part is torn if its ends are farther apart on the whole than so many times its length, and this much more
TORN_LENGTHS, TORN_SLACK = 3.0, 0.05
# a place farther than this from the most similar one is elsewhere, and about as similar if its cosine is less by at most
# that; a part with more of its area alike elsewhere is nearly symmetric. Fixed on pairs that no test is made with
ELSEWHERE, ALIKE, NEARLY_SYMMETRIC = 0.3, 0.05, 0.2
# a different map whose score is worse by less than this is about as likely; fixed on training pairs
AS_LIKELY = 0.3
# a map that fits has less than this share of its area doubtful; lateration makes distances agree even where all is wrong
MOSTLY_DOUBTFUL = 2 / 3
# fewer vertices than this say little about a place, and confidence falls with their number
FEW_VERTICES = 100

# --- warnings

# no error on a surface of area 1 is expected to be larger
LARGEST_ERROR = 0.5
# a map with a larger expected error than this is probably wrong in places, and with a larger one than that altogether
UNSURE_MAP, WRONG_MAP = 0.05, 0.15
# the first is said, too, if more of the area than this is doubtful
HALF_DOUBTFUL = 0.5
