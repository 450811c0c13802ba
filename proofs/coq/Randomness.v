(* Randomness: the inputs of the block cipher are distinct, and the sampler is exactly uniform.
   Chapter: randomness.

   A word has w bits and is one of 2^w equally likely numbers. The sampler for the modulus L keeps
   the low e bits, and discards the word unless they are below L. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---------------------------------------------------------------- inputs of the block cipher *)
(* 256 plane + purpose. *)
Definition block_field (plane purpose : nat) : nat := plane * 256 + purpose.

(* field[4] || index[8] || counter[4], each unsigned and big-endian, read as one number. *)
Definition block_input (field index counter : nat) : nat :=
  (field * 2 ^ 64 + index) * 2 ^ 32 + counter.

Lemma fields_injective (p a b a' b' : nat) :
  b < p -> b' < p -> a * p + b = a' * p + b' -> a = a' /\ b = b'.
Proof.
move=> b_lt b'_lt e; have p_gt0 : 0 < p by apply: leq_ltn_trans b_lt.
split.
  by have := congr1 (divn^~ p) e; rewrite /= !divnMDl // !divn_small // !addn0.
by have := congr1 (modn^~ p) e; rewrite /= !modnMDl !modn_small.
Qed.

Lemma block_field_injective plane purpose plane' purpose' :
  purpose < 256 -> purpose' < 256 -> block_field plane purpose = block_field plane' purpose' ->
  plane = plane' /\ purpose = purpose'.
Proof. exact: fields_injective. Qed.

Lemma block_input_injective field index counter field' index' counter' :
  index < 2 ^ 64 -> index' < 2 ^ 64 -> counter < 2 ^ 32 -> counter' < 2 ^ 32 ->
  block_input field index counter = block_input field' index' counter' ->
  [/\ field = field', index = index' & counter = counter'].
Proof.
by move=> i_lt i'_lt c_lt c'_lt /(fields_injective c_lt c'_lt)[/(fields_injective i_lt i'_lt)[]].
Qed.

Lemma plane_block_injective plane purpose index counter plane' purpose' index' counter' :
  purpose < 256 -> purpose' < 256 ->
  index < 2 ^ 64 -> index' < 2 ^ 64 -> counter < 2 ^ 32 -> counter' < 2 ^ 32 ->
  block_input (block_field plane purpose) index counter
    = block_input (block_field plane' purpose') index' counter' ->
  [/\ plane = plane', purpose = purpose', index = index' & counter = counter'].
Proof.
move=> p_lt p'_lt i_lt i'_lt c_lt c'_lt.
by case/block_input_injective => // /(block_field_injective p_lt p'_lt)[].
Qed.

(* ------------------------------------------------------------------------------- the sampler *)
(* The low e bits of a word. *)
Definition low_bits (e word : nat) : nat := word %% 2 ^ e.

(* The accepted words' low bits, in order. *)
Definition sampler (e L : nat) (words : seq nat) : seq nat :=
  [seq v <- [seq low_bits e word | word <- words] | v < L].

(* Which words were accepted. *)
Definition acceptance (e L : nat) (words : seq nat) : seq bool :=
  [seq low_bits e word < L | word <- words].

(* The numbers of a finite stream of T words of w bits. *)
Definition numbers (w T : nat) (words : T.-tuple 'I_(2 ^ w)) : seq nat :=
  map (@nat_of_ord (2 ^ w)) words.

Lemma numbers_cons w T (word : 'I_(2 ^ w)) (words : T.-tuple 'I_(2 ^ w)) :
  numbers [tuple of word :: words] = (word : nat) :: numbers words.
Proof. by []. Qed.
Lemma sampler_cons e L word words :
  sampler e L (word :: words)
    = if low_bits e word < L then low_bits e word :: sampler e L words else sampler e L words.
Proof. by []. Qed.
Lemma acceptance_cons e L word words :
  acceptance e L (word :: words) = (low_bits e word < L) :: acceptance e L words.
Proof. by []. Qed.
Arguments numbers : simpl never.
Arguments sampler : simpl never.
Arguments acceptance : simpl never.

Section Sampler.
Variables (w e L : nat).
Hypotheses (e_le_w : e <= w) (L_le : L <= 2 ^ e).

Lemma card_words (P : pred nat) :
  #|[set word : 'I_(2 ^ w) | P (low_bits e word)]| = 2 ^ (w - e) * \sum_(j < 2 ^ e) P j.
Proof.
have pow : 2 ^ w = 2 ^ (w - e) * 2 ^ e by rewrite -expnD subnK.
rewrite -sum1dep_card big_mkcond /= -(big_mkord xpredT (fun k => if P (k %% 2 ^ e) then 1 else 0)).
rewrite pow (@sum_divmod _ _ _ _ _ (fun _ j => if P j then 1 else 0)) ?expn_gt0 //.
rewrite sum_nat_const_nat subn0; congr (_ * _); rewrite big_mkord.
by apply: eq_bigr => j _; case: (P j).
Qed.

(* Every residue has equally many words. *)
Lemma card_value a : a < L -> #|[set word : 'I_(2 ^ w) | low_bits e word == a]| = 2 ^ (w - e).
Proof.
move=> a_lt; rewrite (card_words (pred1 a)) (bigD1 (Ordinal (leq_trans a_lt L_le))) //=.
rewrite eqxx big1 ?addn0 ?muln1 // => j; rewrite -val_eqE /= => /negPf ->.
by [].
Qed.

Lemma sum_below (N n : nat) : n <= N -> \sum_(j < N) (j < n) = n.
Proof.
move=> n_le; rewrite -(big_mkord xpredT (fun j => (j < n : nat))) (big_cat_nat _ _ _ (leq0n n)) //=.
rewrite big_nat (eq_bigr (fun _ => 1)) => [|j /andP[_ ->] //]; rewrite -big_nat sum_nat_const_nat.
rewrite subn0 muln1 big_nat big1 ?addn0 // => j /andP[le_nj _]; by rewrite ltnNge le_nj.
Qed.

Lemma card_accepted : #|[set word : 'I_(2 ^ w) | low_bits e word < L]| = 2 ^ (w - e) * L.
Proof. by rewrite (card_words (fun v => v < L)) sum_below. Qed.

Lemma card_rejected :
  #|[set word : 'I_(2 ^ w) | ~~ (low_bits e word < L)]| = 2 ^ (w - e) * (2 ^ e - L).
Proof.
have := cardsC [set word : 'I_(2 ^ w) | low_bits e word < L]; rewrite card_accepted card_ord.
rewrite (_ : ~: _ = [set word : 'I_(2 ^ w) | ~~ (low_bits e word < L)]); last first.
  by apply/setP=> word; rewrite !inE.
move=> total; apply/eqP; rewrite -(eqn_add2l (2 ^ (w - e) * L)) total.
by rewrite -mulnDr subnKC // -expnD subnK.
Qed.

(* A set of streams, by their first words. *)
Lemma card_first T (P : pred (T.+1.-tuple 'I_(2 ^ w))) :
  #|[set words : T.+1.-tuple 'I_(2 ^ w) | P words]|
    = \sum_(word : 'I_(2 ^ w)) #|[set words : T.-tuple 'I_(2 ^ w) | P [tuple of word :: words]]|.
Proof.
rewrite -sum1dep_card.
rewrite (reindex (fun z : 'I_(2 ^ w) * T.-tuple 'I_(2 ^ w) => [tuple of z.1 :: z.2])) /=; last
  first.
  exists (fun t : T.+1.-tuple 'I_(2 ^ w) => (thead t, [tuple of behead t])) => [[x t]|t] _ /=.
    by congr (_, _); apply: val_inj.
  by rewrite -tuple_eta.
rewrite -(pair_big_dep xpredT
  (fun (x : 'I_(2 ^ w)) (t : T.-tuple 'I_(2 ^ w)) => P [tuple of x :: t]) (fun _ _ => 1)) /=.
by apply: eq_bigr => word _; rewrite sum1dep_card.
Qed.

(* Given which words are accepted, every sequence of outputs has equally many streams. *)
Lemma card_pattern T (pattern : seq bool) (outputs : seq nat) :
  size pattern = T -> size outputs = count id pattern -> all (fun a => a < L) outputs ->
  #|[set words : T.-tuple 'I_(2 ^ w) | (acceptance e L (numbers words) == pattern)
                                       && (sampler e L (numbers words) == outputs)]|
    = (2 ^ (w - e)) ^ count id pattern * (2 ^ (w - e) * (2 ^ e - L)) ^ count negb pattern.
Proof.
elim: T pattern outputs => [|T IH] pattern outputs.
  move=> /size0nil -> /size0nil -> _; rewrite muln1 (_ : [set _ | _] = setT) ?cardsT ?card_tuple //.
  by apply/setP=> words; rewrite !inE [words]tuple0.
case: pattern => // -[] pattern [size_p].
  case: outputs => // a outputs [size_o] /= /andP[a_lt outputs_lt].
  rewrite card_first /= !add1n add0n expnS -mulnA -(IH pattern outputs) // -(card_value a_lt).
  rewrite -sum_nat_const big_mkcond /= [RHS](eq_bigl (fun word : 'I_(2 ^ w) => low_bits e word ==
    a)); last first.
    by move=> word; rewrite inE.
  rewrite [RHS]big_mkcond /=; apply: eq_bigr => word _.
  case: eqP => [low|low]; last first.
    apply/eqP; rewrite cards_eq0; apply/eqP/setP=> words; rewrite !inE !numbers_cons !sampler_cons
      !acceptance_cons ?eqseq_cons.
    case: (low_bits e word < L) => //=; rewrite eqseq_cons; move/eqP/negPf: low => ->.
    by rewrite andbF.
  by apply: eq_card => words; rewrite !inE !numbers_cons !sampler_cons !acceptance_cons ?eqseq_cons
    low a_lt /= eqseq_cons eqxx.
rewrite /= add0n add1n => size_o outputs_lt.
rewrite card_first expnS mulnCA -(IH pattern outputs) // -card_rejected.
rewrite -sum_nat_const big_mkcond /= [RHS](eq_bigl (fun word : 'I_(2 ^ w) => ~~ (low_bits e word <
  L))).
  rewrite [RHS]big_mkcond /=; apply: eq_bigr => word _; case: ifP => [v_ge|/negbFE v_lt].
    by apply: eq_card => words; rewrite !inE !numbers_cons !sampler_cons !acceptance_cons
      ?eqseq_cons (negPf v_ge).
  apply/eqP; rewrite cards_eq0; apply/eqP/setP=> words; rewrite !inE !numbers_cons !sampler_cons
    !acceptance_cons ?eqseq_cons v_lt.
  by [].
by move=> word; rewrite inE.
Qed.

(* The first c outputs are uniform on Z_L^c among the streams that yield at least c. *)
Lemma card_prefix T (outputs : seq nat) : all (fun a => a < L) outputs ->
  #|[set words : T.-tuple 'I_(2 ^ w) |
      take (size outputs) (sampler e L (numbers words)) == outputs]| * L ^ size outputs
    = #|[set words : T.-tuple 'I_(2 ^ w) | size outputs <= size (sampler e L (numbers words))]|.
Proof.
elim: T outputs => [|T IH] outputs outputs_lt.
  case: outputs outputs_lt => [|a outputs] _ /=.
    by rewrite muln1; apply: eq_card => words; rewrite !inE take0.
  rewrite (_ : [set _ | _] = set0) ?cards0 ?mul0n; last by apply/setP=> words; rewrite !inE
    [words]tuple0.
  by apply/esym/eqP; rewrite cards_eq0; apply/eqP/setP=> words; rewrite !inE [words]tuple0.
case: outputs outputs_lt => [|a outputs] /=.
  by move=> _; rewrite muln1; apply: eq_card => words; rewrite !inE take0.
case/andP=> a_lt outputs_lt; rewrite !card_first /=.
pose S c := #|[set words : T.-tuple 'I_(2 ^ w) | c <= size (sampler e L (numbers words))]|.
pose C o := #|[set words : T.-tuple 'I_(2 ^ w) | take (size o) (sampler e L (numbers words)) == o]|.
have split (f g : nat) :
    \sum_(word : 'I_(2 ^ w)) (if low_bits e word < L then f else g)
      = 2 ^ (w - e) * L * f + 2 ^ (w - e) * (2 ^ e - L) * g.
  rewrite -card_accepted -card_rejected -!sum_nat_const (bigID (fun word : 'I_(2 ^ w) => low_bits e
    word < L)).
  congr (_ + _).
    by apply: eq_big => word; [rewrite inE|move=> /= ->].
  by apply: eq_big => word; [rewrite inE|move=> /= /negPf ->].
transitivity (2 ^ (w - e) * L * S (size outputs) + 2 ^ (w - e) * (2 ^ e - L) * S (size outputs).+1);
  last first.
  rewrite -split; apply: eq_bigr => word _.
  by case: ifP => v_lt; apply: eq_card => words; rewrite !inE !numbers_cons !sampler_cons
    ?acceptance_cons v_lt.
rewrite /S -(IH outputs) // -(IH (a :: outputs)) /=; last by rewrite a_lt.
rewrite -/(C outputs) -[X in _ = _ + _ * (X * _)]/(C (a :: outputs)).
have -> : \sum_(word : 'I_(2 ^ w)) #|[set words : T.-tuple 'I_(2 ^ w) |
      take (size outputs).+1 (sampler e L (numbers [tuple of word :: words])) == a :: outputs]|
    = 2 ^ (w - e) * C outputs + 2 ^ (w - e) * (2 ^ e - L) * C (a :: outputs).
  rewrite -card_rejected -(card_value a_lt) -!sum_nat_const.
  rewrite (bigID (fun word : 'I_(2 ^ w) => low_bits e word < L)) /=; congr (_ + _); last first.
    apply: eq_big => word; [by rewrite inE|move=> /negPf v_ge].
    by apply: eq_card => words; rewrite !inE !numbers_cons !sampler_cons ?acceptance_cons v_ge.
  rewrite [RHS]big_mkcond [LHS]big_mkcond /=; apply: eq_bigr => word _; rewrite inE.
  case: eqP => [low|low].
    rewrite low a_lt; apply: eq_card => words.
    by rewrite !inE !numbers_cons !sampler_cons ?acceptance_cons low a_lt /= eqseq_cons eqxx.
  case: ifP => // v_lt; apply/eqP; rewrite cards_eq0; apply/eqP/setP=> words.
  by rewrite !inE !numbers_cons !sampler_cons ?acceptance_cons v_lt /= eqseq_cons; move/eqP/negPf:
    low => ->.
by rewrite expnS; nia.
Qed.

End Sampler.
