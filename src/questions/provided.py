"""Files that the grader adds to every submission; packing imports this without numpy."""

from grading.staging import Provided

RECIPES = "recipes.json"
# The modules that students write, each with the beginning of its topics' names; "": any topic.
TOPICS_OF_MODULE = {
    "attention.py": "",
    "attention_exploration.py": "attention_",
    "building_blocks.py": "blocks_",
    "building_blocks_positions.py": "blocks_",
    "building_blocks_pretraining.py": "blocks_",
    "dataset.py": "",
    "helper.py": "",
    "london_baseline.py": "",
}
PROVIDED = Provided(
    modules=tuple(TOPICS_OF_MODULE),
    given=("__init__.py", "model.py", "trainer.py", "utils.py"),
    packages=("pretraining",),
    generated=(RECIPES,),
)
