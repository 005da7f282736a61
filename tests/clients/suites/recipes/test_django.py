"""The recipe for Django, as docs/cookbook/django.md shows it."""

import django
import openai
from django.conf import settings
from django.http import JsonResponse
from django.test import Client
from django.urls import path

from harness.faults import rate_limit


def ask(request):
    try:
        with openai.OpenAI(max_retries=0) as client:
            response = client.responses.create(model="gpt-5.6-sol", input=request.GET["question"])
    except openai.RateLimitError:
        return JsonResponse({"error": "Try again later."}, status=503)
    return JsonResponse({"answer": response.output_text})


urlpatterns = [path("ask", ask)]
settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="secret", ALLOWED_HOSTS=["testserver"])
django.setup()


def test_the_view_answers(mock):
    mock.script("Paris.")
    assert Client().get("/ask", {"question": "The capital of France?"}).json() == {"answer": "Paris."}


def test_the_view_tells_that_the_model_is_busy(mock):
    mock.script(rate_limit())
    assert Client().get("/ask", {"question": "The capital of France?"}).status_code == 503
