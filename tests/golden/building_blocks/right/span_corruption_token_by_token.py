# Token by token.
# region: building_blocks_pretraining.py, span_corruption, blocks sentinels
starts, ends = [s for s, _ in spans], [e for _, e in spans]
source, target, inside = [], [], False
for place, token in enumerate(tokens):
    if inside and place in ends:
        inside = False
    if place in starts:
        inside = True
        source.append(SENTINELS[starts.index(place)])
        target.append(source[-1])
    (target if inside else source).append(token)
return source, target + [SENTINELS[len(spans)]]
