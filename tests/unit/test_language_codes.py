"""What callers write finds what packages declare, or nothing; never another language or script."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.language_names import language_name
from service.translation.codes import DeclaredCodes, parse_code, primary_language

# As the checkpoints declare them: OPUS-MT (one pair, several targets), M2M100, mBART-50, NLLB-200, MADLAD-400.
ONE = ("de",)
OPUS = (
    "por",
    "pob",
    "cmn_Hans",
    "cmn_Hant",
    "srp_Cyrl",
    "srp_Latn",
    "jpn",
    "jpn_Hira",
    "nob",
    "nno",
    "zsm_Latn",
    "deu",
)
M2M = ("zh", "sr", "no", "tl", "he", "id", "ns", "fa", "ar", "et", "lv", "pt", "de", "sw", "ff", "ps")
MBART = ("en_XX", "de_DE", "zh_CN", "pt_XX", "ar_AR", "he_IL", "az_AZ", "tl_XX", "et_EE", "fa_IR")
NLLB = (
    *("eng_Latn", "deu_Latn", "zho_Hans", "zho_Hant", "yue_Hant", "srp_Cyrl", "por_Latn", "nob_Latn", "nno_Latn"),
    *("arb_Arab", "arz_Arab", "swh_Latn", "zsm_Latn", "est_Latn", "lvs_Latn", "pes_Arab", "prs_Arab", "pbt_Arab"),
    *("heb_Hebr", "ind_Latn", "jav_Latn", "tgl_Latn", "kmr_Latn", "ckb_Arab", "azj_Latn", "azb_Arab", "aka_Latn"),
    *("twi_Latn", "kas_Arab", "kas_Deva", "ace_Arab", "ace_Latn", "kor_Hang", "jpn_Jpan", "fuv_Latn", "quy_Latn"),
    *("khk_Cyrl", "npi_Deva", "ory_Orya", "plt_Latn", "als_Latn", "ydd_Hebr", "uzn_Latn", "gaz_Latn", "nso_Latn"),
    *("hrv_Latn", "ron_Latn", "crh_Latn"),
)
MADLAD = ("iw", "fil", "zh", "zh_Latn", "no", "jv", "msi", "fr")

FOUND = [
    (ONE, "de", "de deu ger DE de_AT de-CH deu_Latn de-1996 de-x-mine de-Latn-DE"),
    (M2M, "zh", "zh zho chi cmn zh-CN zh_TW zh-Hant zho_Hans"),
    (M2M, "sr", "sr srp sr-Latn sr_Cyrl sh"),
    (M2M, "no", "no nor nb nob nb-NO"),
    (M2M, "tl", "tl tgl fil tgl_Latn"),
    (M2M, "ns", "ns nso nso_Latn"),
    (M2M, "he", "he iw heb"),
    (M2M, "id", "id in ind"),
    (M2M, "fa", "fa fas per pes prs fa-AF"),
    (M2M, "ar", "ar ara arb ar-EG"),
    (M2M, "et", "et est ekk"),
    (M2M, "lv", "lv lav lvs"),
    (M2M, "ff", "ff ful fuv"),
    (M2M, "ps", "ps pus pbt"),
    (M2M, "pt", "pt pt-BR pob por"),
    (MBART, "en_XX", "en en-US en_GB eng EN en-XX"),
    (MBART, "de_DE", "de de-DE de-AT deu"),
    (MBART, "zh_CN", "zh zh-CN zh-SG zho_Hans cmn zh-Hans"),
    (MBART, "ar_AR", "ar arb ar-SA"),
    (MBART, "pt_XX", "pt pt-BR pt_PT"),
    (MBART, "az_AZ", "az azj aze az-Latn"),
    (NLLB, "zho_Hans", "zh zho cmn zh-CN zh-Hans zh_SG ZHO_HANS cmn-hans-cn"),
    (NLLB, "zho_Hant", "zh-TW zh-Hant zh_HK zho-hant cmn_Hant zh-Hant-MO"),
    (NLLB, "yue_Hant", "yue yue-HK yue_Hant"),
    (NLLB, "por_Latn", "pt pt-BR pob por pt_PT"),
    (NLLB, "nob_Latn", "no nb nob nor"),
    (NLLB, "nno_Latn", "nn nno"),
    (NLLB, "arb_Arab", "ar ara arb"),
    (NLLB, "arz_Arab", "arz"),
    (NLLB, "zsm_Latn", "ms msa may zsm"),
    (NLLB, "pes_Arab", "fa fas pes fa-IR"),
    (NLLB, "prs_Arab", "prs fa-AF"),
    (NLLB, "pbt_Arab", "ps pus pbt"),
    (NLLB, "heb_Hebr", "he iw heb"),
    (NLLB, "ind_Latn", "id in ind"),
    (NLLB, "jav_Latn", "jv jw jav"),
    (NLLB, "tgl_Latn", "tl fil tgl"),
    (NLLB, "kmr_Latn", "ku kmr kur"),
    (NLLB, "azj_Latn", "az azj aze az-AZ"),
    (NLLB, "twi_Latn", "tw twi"),
    (NLLB, "aka_Latn", "ak aka"),
    (NLLB, "kas_Arab", "ks kas ks-IN"),
    (NLLB, "ace_Latn", "ace"),
    (NLLB, "ace_Arab", "ace-Arab"),
    (NLLB, "kor_Hang", "ko ko-KR kor ko-Kore"),
    (NLLB, "jpn_Jpan", "ja jpn ja-JP"),
    (NLLB, "fuv_Latn", "ff ful"),
    (NLLB, "quy_Latn", "qu que"),
    (NLLB, "khk_Cyrl", "mn mon khk mn-MN"),
    (NLLB, "ydd_Hebr", "yi ji yid"),
    (NLLB, "nso_Latn", "nso ns"),
    (NLLB, "ron_Latn", "ro ron rum mo"),
    (NLLB, "crh_Latn", "crh crh-UA"),
    (OPUS, "por", "pt pt-PT por"),
    (OPUS, "pob", "pt-BR pob por_BR"),
    (OPUS, "cmn_Hans", "zh zh-CN cmn"),
    (OPUS, "cmn_Hant", "zh-TW zho_Hant"),
    (OPUS, "srp_Cyrl", "sr sr-RS"),
    (OPUS, "srp_Latn", "sr-Latn sh sr_ME"),
    (OPUS, "jpn", "ja jpn ja-JP"),
    (OPUS, "jpn_Hira", "ja-Hira"),
    (MADLAD, "iw", "he iw heb"),
    (MADLAD, "fil", "tl fil"),
    (MADLAD, "zh", "zh zh-CN zh-Hant cmn"),
    (MADLAD, "zh_Latn", "zh-Latn"),
    (("pt_BR", "pt_PT"), "pt_BR", "pt pt-BR"),
    (("nor", "nob"), "nor", "no nor"),
    (("nor", "nob"), "nob", "nb nob"),
    (("zho", "cmn_Hans"), "cmn_Hans", "zh-Hans zho-CN"),
    (("zho", "cmn_Hans"), "zho", "zh zho"),
    # Codes of no standard are found as they are spelled.
    (("ze_en", "x1"), "ze_en", "ze_en ZE-EN"),
    (("ze_en", "x1"), "x1", "x1 X1"),
]
REFUSED = [
    (ONE, "en nl gsw nds de_DE_x auto x a deutsch german 12"),
    # The language is there, but not in this script.
    (MBART, "zh-Hant zh-TW zh-HK cmn_Hant az-IR az-Arab"),
    (NLLB, "sr-Latn sh zh-Latn pa ku-IQ az-IR crh-Cyrl"),
    (("srp_Cyrl",), "sr-Latn sh sr-ME"),
    (("zho_Hans",), "zh-Hant zh-TW"),
    # Another language of the same macrolanguage, or near.
    (M2M, "nn nno arz yue zh-yue ckb"),
    (("yue_Hant",), "zh zho cmn zh-Hant"),
    (("nno_Latn",), "no nb"),
    (("azb_Arab",), "az"),
    (NLLB, "bs hr-Cyrl sco"),
    # Nothing says which of several is meant.
    (("es_MX", "es_AR"), "es es-ES es-419"),
    (("en_US", "en_AU"), "en-GB"),
    (("kas_Telu", "kas_Deva"), "ks"),
]


@pytest.mark.parametrize(
    ("declared", "code", "written"),
    [pytest.param(declared, code, one) for declared, code, written in FOUND for one in written.split()],
)
def test_a_code_finds_the_language_it_names(declared, code, written):
    assert DeclaredCodes(declared).find(written) == code


@pytest.mark.parametrize(
    ("declared", "written"),
    [pytest.param(declared, one) for declared, written in REFUSED for one in written.split()],
)
def test_a_code_that_names_nothing_declared_finds_nothing(declared, written):
    assert DeclaredCodes(declared).find(written) is None


@pytest.mark.parametrize("declared", [ONE, OPUS, M2M, MBART, NLLB, MADLAD])
def test_every_declared_code_finds_itself_however_it_is_spelled(declared):
    codes = DeclaredCodes(declared)
    assert list(codes) == sorted(declared)
    for code in declared:
        for written in (code, code.upper(), code.lower(), code.replace("_", "-"), f" {code} "):
            assert codes.find(written) == code


def test_the_variants_of_a_language_are_known_where_none_fits():
    codes = DeclaredCodes(NLLB)
    assert codes.variants("zh-Latn") == ("zho_Hans", "zho_Hant")
    assert codes.variants("sr-Latn") == ("srp_Cyrl",)
    assert codes.variants("xx") == codes.variants("!") == ()


def test_the_order_of_declaration_does_not_matter():
    for written in ("zh", "zh-TW", "no", "fa", "ks", "tw", "ace", "pt-BR"):
        assert DeclaredCodes(reversed(NLLB)).find(written) == DeclaredCodes(NLLB).find(written)


ANYTHING = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=35)
PLAUSIBLE = st.builds(
    "{}{}{}".format,
    st.sampled_from([*(code.split("_")[0] for code in NLLB), "zh", "sr", "fa", "pt", "ks", "no", "xx"]),
    st.sampled_from(["", "-Hans", "_Hant", "-Latn", "-Cyrl", "_Arab", "-Deva"]),
    st.sampled_from(["", "-TW", "_CN", "-IR", "-ME", "_XX", "-419", "-x-a"]),
)


@given(ANYTHING | PLAUSIBLE)
def test_any_code_is_read_or_refused_in_peace(written):
    tag = parse_code(written)
    found = DeclaredCodes(NLLB).find(written)
    assert primary_language(f"a{written}")
    assert language_name(written)
    if found is not None and tag is not None:
        declared = parse_code(found)
        assert declared.macrolanguage == tag.macrolanguage
        assert tag.script in (None, declared.script)


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("deu_Latn", "de"),
        ("de-AT", "de"),
        ("zho_Hant", "zh"),
        ("cmn_Hans", "zh"),
        ("yue_Hant", "yue"),
        ("jpn", "ja"),
        ("en_XX", "en"),
        ("nob_Latn", "no"),
        ("pob", "pt"),
        ("iw", "he"),
        ("x1-y", "x1"),
    ],
)
def test_rules_of_cutting_and_joining_go_by_the_short_code(code, language):
    assert primary_language(code) == language


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("deu_Latn", "German"),
        ("de_DE", "German"),
        ("en_XX", "English"),
        ("zho_Hans", "Chinese (Simplified)"),
        ("zho_Hant", "Chinese (Traditional)"),
        ("zh_CN", "Chinese (Simplified)"),
        ("zh", "Chinese"),
        ("srp_Latn", "Serbian (Latin)"),
        ("ace_Arab", "Acehnese (Arabic)"),
        ("pob", "Portuguese (Brazil)"),
        ("por_Latn", "Portuguese"),
        ("arb_Arab", "Modern Standard Arabic"),
        ("azb_Arab", "South Azerbaijani"),
        ("prs_Arab", "Dari"),
        ("tl", "Tagalog"),
        ("twi_Latn", "Twi"),
        ("xyz_Latn", "xyz_Latn"),
        ("ze_en", "ze_en"),
        ("x1", "x1"),
    ],
)
def test_a_language_has_a_readable_name(code, name):
    assert language_name(code) == name
