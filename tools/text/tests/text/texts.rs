//! Texts to test with.

use proptest::prelude::*;

/// Pieces of text in which the rules of several scripts meet.
pub fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{1,60}",
        2 => "([a-z]{1,9}[ ,.]){1,12}",
        2 => "[a-c0-2_.,:;' \n\r]{1,70}",
        2 => "[中文字的是在かな。、“”…，]{1,12}",
        1 => "[\u{ac00}-\u{ac40}\u{1100}-\u{1112}\u{1161}-\u{1175}]{1,5}",
        1 => "[กขคงาิี]{1,8}",
        1 => "(<[a-z/!?-]{0,8}>?|&[a-z#x0-9]{0,6};?|<!--|-->|<script>|</script>|<style a>){1,4}",
        2 => proptest::sample::select(vec![
            "\u{301}", "\u{200b}", "\u{200d}", "\u{ad}", "\u{fe0f}", "\u{e0100}", "é", "ß", "カ", "ー", "々", "ﾞ", "ｶ", "Ａ", "①", "א", "״", "’", "·", "：", "．", "🇩",
            "🇪", "👩", "🏽", "\u{3000}", "\u{2028}", "\u{85}", "\u{a0}", "İ", "ΑΣ", "ǆ", "٣", "१", "\u{fffd}", "𠀀", "𐐀", "ﬁ", "½", "the ", "is ", "! ", "? ",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// Documents: tricky text, sometimes with bytes that are none.
pub fn documents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => tricky().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (tricky(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, index, byte)| {
            let mut bytes = text.into_bytes();
            if !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            bytes
        }),
        1 => (tricky(), 1..40usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
    ]
}

/// Fixed documents in many languages, and strange ones.
pub fn fixed() -> Vec<(&'static str, Vec<u8>)> {
    let english = "The harbour master counts the boats at dawn, and again at dusk. Nobody asked him to; it is 3.5 miles to the next port, and he \
                   doesn't sleep well. \"There were forty-one,\" he said, \"and one that wasn't there yesterday.\" The tide tables of 1998 lay open on \
                   his desk_drawer: 06:15, 18:40. What was the name of the boat? It had been painted over, twice.";
    let chinese = "港务长每天黎明数一次船，黄昏再数一次。没有人要求他这样做；到下一个港口有三点五海里，而他睡得不好。“一共有四十一艘，”他说，“其中一艘昨天还不在。”\
                   1998年的潮汐表摊开在他的桌子上。那艘船叫什么名字？它已经被重新漆过两次了。";
    let words = |count: u32| {
        let mut state = 1u32;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("w{}", state >> 20)
        };
        (0..count).map(next).collect::<Vec<_>>().join(" ")
    };
    let texts = [
        ("empty", String::new()),
        ("letter", "a".to_owned()),
        ("ideograph", "中".to_owned()),
        ("three words", "one two three".to_owned()),
        ("punctuation", "... !?! — 。。。".to_owned()),
        ("one word often", "tide ".repeat(40)),
        ("english", english.to_owned()),
        ("english in capitals", english.to_uppercase()),
        ("chinese", chinese.to_owned()),
        ("full width", "ＦＵＬＬ　ｗｉｄｔｈ，１２３ ｶﾞｷﾞｸﾞ ①②③ ﬁne".to_owned()),
        ("traditional", "港務長每天黎明數一次船，黃昏再數一次。沒有人要求他這樣做；而他睡得不好。".to_owned()),
        ("japanese", "港長は毎朝、夜明けに船を数え、夕暮れにもう一度数える。カタカナとひらがな、そして漢字。".to_owned()),
        ("korean", "항만장은 새벽에 배를 세고 해질녘에 다시 센다. 아무도 그에게 부탁하지 않았다.".to_owned()),
        ("thai", "นายท่าเรือนับเรือตอนรุ่งสาง และนับอีกครั้งตอนพลบค่ำ".to_owned()),
        ("german composed", "Der Hafenmeister zählt die Boote früh, und noch einmal spät; Straße, Größe, Übermaß.".to_owned()),
        ("german decomposed", "Der Hafenmeister za\u{308}hlt die Boote fru\u{308}h, und noch einmal spa\u{308}t; Straße, Gro\u{308}ße, U\u{308}bermaß.".to_owned()),
        ("greek and turkish", "Ο ΛΙΜΕΝΑΡΧΗΣ μετράει τις βάρκες. İstanbul'da LİMAN müdürü sayar. ΟΔΟΣ".to_owned()),
        ("hindi and arabic", "बंदरगाह का मालिक भोर में नावें गिनता है १२३ مدير الميناء يعد القوارب عند الفجر ٤٥٦".to_owned()),
        ("emoji", "👩‍🚀 boats 🇩🇪🇫🇷 and 👍🏽 tides ❤️ at dawn ⚓ again".to_owned()),
        ("mixed", format!("{} {} {}", &english[..120], &chinese[..120], &english[120..200])),
        ("html", "<html><head><style>p { x: y }</style></head><body><p class=\"a\">The boat &amp; the <b>tide</b> &#x4e2d;&#25991; are here</p></body></html>".to_owned()),
        ("words 100", words(100)),
        ("words 3000", words(3000)),
        ("no blanks", "x".repeat(5000)),
    ];
    let mut all: Vec<_> = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    all.push((
        "no utf-8",
        b"the boat \xff\xfe and \xe4\xb8 the tide are \xc0\xaf here again today".to_vec(),
    ));
    all.push(("noise", (0..=255).collect()));
    all
}
