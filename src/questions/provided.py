"""What the grader adds to every submission; apart, so that packing one's work needs no numpy."""

from grading.staging import Provided

RECIPES = "recipes.json"
PROVIDED = Provided(
    given=("__init__.py", "model.py", "trainer.py", "utils.py"),
    packages=("pretraining",),
    generated=(RECIPES,),
)
