(* Verdicts while several messages are in flight. Chapters: offline, integrity.

   One pair (rho, s) checks messages of two kinds, David's replies and the offline David's
   cancellations, of any number of sessions and connections. Whoever plays against it knows all but
   rho: masks, activations, what Charlie does with them. So the strategy below plays both Davids,
   who pool what they see, and Charlie too, and sees every verdict that is released. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Integrity.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Tickets.
Variables (F : finFieldType) (kappa : nat) (G : finType) (M N : G -> nat).
Variable W : forall g, 'M[F]_(M g, N g).
Notation message := (@message F G N).
Notation reply x := (@reply F G M N x).
Notation secrets := (@secrets F kappa G M).

(* Which pair a life is of: one that was returned and taken again has several lives, and so has one
   that was copied, even at the same time. *)
Variables (pairs lives : finType) (pair_of : lives -> pairs).

(* What is checked: David's reply y~ to x~, or the offline David's cancellation c of the mask r. *)
Inductive source : Type := FromDavid | FromOffline.
Record item : Type := Item { sender : source; asked : message; given : reply asked }.
Definition wrong (m : item) : bool := given m != right_reply W (asked m).

(* A message waits for its verdict in a life, in which it gets the next ticket. The verdict of the
   one that has j others before it is released. Refused: the rule does not allow that. *)
Inductive event : Type :=
  | Waits (l : lives) (m : item)
  | Told (l : lives) (j : nat) (m : item) (accepted : bool)
  | Refused (l : lives) (j : nat).
Inductive move : Type := Arrive (l : lives) (m : item) | Release (l : lives) (j : nat).

(* The messages of a life without a verdict, by ticket. *)
Definition waiting (h : seq event) (l : lives) : seq item :=
  foldl (fun w ev => match ev with
           | Waits l' m => if l' == l then rcons w m else w
           | Told l' j _ _ => if l' == l then take j w ++ drop j.+1 w else w
           | Refused _ _ => w
           end) [::] h.

(* The lives whose rejects were released, and the messages of a life that came and had a verdict. *)
Definition rejects (h : seq event) : seq lives :=
  pmap (fun ev => if ev is Told l _ _ false then Some l else None) h.
Definition arrived (h : seq event) (l : lives) : seq item :=
  pmap (fun ev => if ev is Waits l' m then if l' == l then Some m else None else None) h.
Definition told (h : seq event) (l : lives) : seq item :=
  pmap (fun ev => if ev is Told l' _ m _ then if l' == l then Some m else None else None) h.

(* The verdicts on wrong messages. *)
Definition tries (h : seq event) : seq bool :=
  pmap (fun ev => if ev is Told _ _ m v then if wrong m then Some v else None else None) h.
Definition wrong_verdicts (h : seq event) : nat := size (tries h).
Definition deceived (h : seq event) : bool := has id (tries h).

(* Which verdict may be released, by what was released before. By tickets: that of the oldest
   message of a life without a reject. No order: any. *)
Definition rule : Type := seq event -> lives -> nat -> bool.
Definition by_tickets : rule := fun h l j => (j == 0)%N && (l \notin rejects h).
Definition no_order : rule := fun _ _ _ => true.

(* Tickets that are taken after the comparison: an accepted message overtakes the others, though
   nothing is released after a reject. It is no rule as above: it knows verdicts that are not
   released. *)
Definition late_tickets (judge : lives -> item -> bool) : rule := fun h l j =>
  (l \notin rejects h)
    && ((if ohead (drop j (waiting h l)) is Some m then judge l m else false)
        || all (fun m => ~~ judge l m) (waiting h l)).
Definition ends_lives (o : rule) : Prop := forall h l j, o h l j -> l \notin rejects h.

Section Run.
Variables (o : rule) (judge : lives -> item -> bool) (davids : seq event -> option move).

Definition released (h : seq event) (l : lives) (j : nat) : option item :=
  if o h l j then ohead (drop j (waiting h l)) else None.

(* At most T moves. *)
Fixpoint play (T : nat) (h : seq event) : seq event :=
  if T isn't T'.+1 then h else
  match davids h with
  | None => h
  | Some (Arrive l m) => play T' (rcons h (Waits l m))
  | Some (Release l j) =>
      play T' (rcons h (if released h l j is Some m then Told l j m (judge l m) else Refused l j))
  end.

(* What a step keeps, the run keeps. *)
Lemma play_keeps (P : seq event -> Prop) T h :
  (forall h l m, P h -> P (rcons h (Waits l m))) ->
  (forall h l j, P h -> P (rcons h (Refused l j))) ->
  (forall h l j m, P h -> released h l j = Some m -> P (rcons h (Told l j m (judge l m)))) ->
  P h -> P (play T h).
Proof.
move=> waits refused tell; elim: T h => [//|T IH] h Ph /=.
case: (davids h) => [[l m|l j]|//]; apply: IH; first exact: waits.
by case r: (released h l j) => [m|]; [apply: tell|apply: refused].
Qed.
End Run.

Lemma tries_rcons h ev : tries (rcons h ev) = tries h ++ tries [:: ev].
Proof. by rewrite -cats1 /tries pmap_cat. Qed.
Lemma rejects_rcons h ev : rejects (rcons h ev) = rejects h ++ rejects [:: ev].
Proof. by rewrite -cats1 /rejects pmap_cat. Qed.

Lemma play_adds o judge davids T h :
  exists2 h', play o judge davids T h = h ++ h'
    & tries (play o judge davids T h) = tries h ++ tries h'.
Proof.
have [h' e] : exists h', play o judge davids T h = h ++ h'.
  apply: (@play_keeps o judge davids (fun k => exists h', k = h ++ h')) => [k l m|k l j|k l j m|].
  - by case=> h' ->; exists (rcons h' (Waits l m)); rewrite rcons_cat.
  - by case=> h' ->; exists (rcons h' (Refused l j)); rewrite rcons_cat.
  - by case=> h' -> _; exists (rcons h' (Told l j m (judge l m))); rewrite rcons_cat.
  by exists [::]; rewrite cats0.
by exists h' => //; rewrite e /tries pmap_cat.
Qed.

(* -------------------------------------------------------------------- verdicts with secret rhos *)
(* Every pair has its own rho for each group. *)
Definition all_secrets : finType := [finType of {dffun forall p : pairs, secrets}].
Definition checks (rhos : all_secrets) (l : lives) (m : item) : bool :=
  verdict W (rhos (pair_of l)) (given m).

Notation passing := ((#|F|%:R ^+ kappa)^-1 : rat).

Lemma passing_ge0 : 0 <= passing.
Proof. by rewrite invr_ge0 exprn_ge0 ?ler0n. Qed.

Lemma all_secrets_gt0 : (0 < #|all_secrets|)%N.
Proof.
case/card_gt0P: (card_secrets_gt0 F kappa M) => rho _.
by apply/card_gt0P; exists ([ffun=> rho] : {dffun forall p : pairs, secrets}).
Qed.

Lemma checks_wrong l m : wrong m ->
  Pr (@uniform all_secrets) (fun rhos => checks rhos l m) <= passing.
Proof.
move=> wrong_m; rewrite (@Pr_coordinate pairs (fun _ => secrets) (pair_of l)
  (fun rho => verdict W rho (given m)) all_secrets_gt0); exact: verdict_wrong.
Qed.

Lemma checks_right rhos l m : ~~ wrong m -> checks rhos l m.
Proof. by case: m => k x y; rewrite /wrong negbK /checks /= => /eqP ->; apply: verdict_right. Qed.

(* Some wrong message is accepted among the first Q that get a verdict. *)
Definition deceived_within (Q : nat) (h : seq event) : bool := has id (take Q (tries h)).

Lemma deceived_within_sub Q h : deceived_within Q h -> deceived h.
Proof. by case/hasP=> v /mem_take v_in v_true; apply/hasP; exists v. Qed.

Lemma deceived_within_play o judge davids T h Q : (Q <= wrong_verdicts h)%N -> ~~ deceived h ->
  deceived_within Q (play o judge davids T h) = false.
Proof.
move=> Q_le fair; have [h' _ e] := play_adds o judge davids T h.
rewrite /deceived_within e takel_cat //; apply: negbTE; apply: contra fair.
exact: deceived_within_sub.
Qed.

Lemma deceived_within_bound o davids T h Q : ~~ deceived h ->
  Pr (@uniform all_secrets)
     (fun rhos => deceived_within (wrong_verdicts h + Q) (play o (checks rhos) davids T h))
    <= Q%:R * passing.
Proof.
elim: T h Q => [|T IH] h Q fair.
  rewrite Pr_never ?mulr_ge0 ?ler0n ?passing_ge0 // => rhos /=.
  by apply: negbTE; apply: contra fair; apply: deceived_within_sub.
have none : Pr (@uniform all_secrets) (fun=> deceived_within (wrong_verdicts h + Q) h)
    <= Q%:R * passing.
  rewrite Pr_never ?mulr_ge0 ?ler0n ?passing_ge0 // => rhos.
  by apply: negbTE; apply: contra fair; apply: deceived_within_sub.
have same ev : tries [:: ev] = [::] -> Pr (@uniform all_secrets) (fun rhos =>
      deceived_within (wrong_verdicts h + Q) (play o (checks rhos) davids T (rcons h ev)))
    <= Q%:R * passing.
  move=> no_try; have e : tries (rcons h ev) = tries h by rewrite tries_rcons no_try cats0.
  by rewrite -[wrong_verdicts h]/(size (tries h)) -e; apply: IH; rewrite /deceived e.
rewrite /=; case: (davids h) => [[l m|l j]|]; [exact: same| |exact: none].
case: (released o h l j) => [m|]; last exact: same.
case w: (wrong m); last first.
  rewrite (@eq_Pr _ _ _ (fun rhos => deceived_within (wrong_verdicts h + Q)
    (play o (checks rhos) davids T (rcons h (Told l j m true))))) => [|rhos].
    by apply: same; rewrite /= w.
  by rewrite checks_right ?w.
case: Q {none same} => [|Q].
  rewrite Pr_never ?mul0r // => rhos.
  have [h' e1 e2] := play_adds o (checks rhos) davids T (rcons h (Told l j m (checks rhos l m))).
  rewrite /deceived_within e2 tries_rcons -catA addn0 take_size_cat //.
  exact: negbTE.
have e : tries (rcons h (Told l j m false)) = rcons (tries h) false.
  by rewrite tries_rcons /= w cats1.
have IHQ := IH (rcons h (Told l j m false)) Q; rewrite /deceived e has_rcons in IHQ.
rewrite mulrS mulrDl mul1r; apply: (le_trans _ (ler_add (checks_wrong l w) (IHQ fair))).
apply: (le_trans _ (Pr_or_le _ _ (@uniform_ge0 _))); apply: Pr_le (@uniform_ge0 _) _ => rhos.
by rewrite /wrong_verdicts e size_rcons addSnnS; case: (checks rhos l m).
Qed.

(* The prior may hold what both Davids, Charlie and the user know and all their coins. *)
Theorem deceived_bound o (Omega : finType) (mu : Omega -> rat)
    (davids : Omega -> seq event -> option move) T Q : distribution mu ->
  Pr (independent mu (@uniform all_secrets)) (fun z =>
      let h := play o (checks z.2) (davids z.1) T [::] in deceived h && (wrong_verdicts h <= Q)%N)
    <= Q%:R * passing.
Proof.
move=> mu_dist; apply: Pr_independent_le => // w /=.
apply: le_trans (deceived_within_bound o (davids w) T Q (h := [::]) isT).
apply: Pr_le (@uniform_ge0 _) _ => rhos /andP[dec le_Q].
by rewrite /deceived_within take_oversize.
Qed.

(* --------------------------------------------------------------------------- number of lives *)
Section Lives.
Variables (o : rule) (judge : lives -> item -> bool) (davids : seq event -> option move).
Hypothesis ends : ends_lives o.

Lemma play_lives T : let h := play o judge davids T [::] in
  [/\ uniq (rejects h), ~~ deceived h -> (wrong_verdicts h <= size (rejects h))%N
    & deceived h -> deceived_within #|lives| h].
Proof.
apply: (@play_keeps o judge davids (fun h =>
  [/\ uniq (rejects h), ~~ deceived h -> (wrong_verdicts h <= size (rejects h))%N
    & deceived h -> deceived_within #|lives| h])) => //.
- move=> h l m; rewrite /deceived_within /deceived /wrong_verdicts tries_rcons rejects_rcons.
  by rewrite !cats0.
- move=> h l j; rewrite /deceived_within /deceived /wrong_verdicts tries_rcons rejects_rcons.
  by rewrite !cats0.
move=> h l j m [uniq_h few within]; rewrite /released; case: ifP => // /ends fresh _.
have uniq_l : uniq (l :: rejects h) by rewrite /= fresh.
have lt_lives : (size (rejects h) < #|lives|)%N
  by have := max_card (mem (l :: rejects h)); rewrite (card_uniqP uniq_l).
have more : deceived h -> deceived_within #|lives| (rcons h (Told l j m (judge l m))).
  move/within; rewrite /deceived_within tries_rcons take_cat; case: ltnP => // le_n.
  by rewrite take_oversize // has_cat => ->.
have uniq_h' : uniq (rejects (rcons h (Told l j m (judge l m)))).
  rewrite rejects_rcons /=; case: (judge l m); first by rewrite cats0.
  by rewrite cats1 rcons_uniq fresh.
have size_h' : (size (rejects h) + ~~ judge l m
    = size (rejects (rcons h (Told l j m (judge l m)))))%N.
  by rewrite rejects_rcons size_cat /=; case: (judge l m).
have dec_h' : deceived (rcons h (Told l j m (judge l m))) = deceived h || (wrong m && judge l m).
  by rewrite /deceived tries_rcons has_cat /=; case: (wrong m) => //=; rewrite orbF.
have tries_h' : wrong_verdicts (rcons h (Told l j m (judge l m))) = (wrong_verdicts h + wrong m)%N.
  by rewrite /wrong_verdicts tries_rcons size_cat /=; case: (wrong m).
split=> //; rewrite dec_h'.
  rewrite negb_or tries_h' -size_h' => /andP[/few le_h]; case: (wrong m) => /=.
    by move/negbTE=> ->; rewrite leq_add.
  by rewrite addn0 => _; apply: leq_trans le_h (leq_addr _ _).
case/orP=> [/more //|/andP[w v]]; case dec_h: (deceived h); first by rewrite more.
rewrite /deceived_within tries_rcons take_oversize; last first.
  by rewrite size_cat /= w /= addn1 (leq_ltn_trans (few (negbT dec_h))).
by rewrite has_cat /= w v orbT.
Qed.

(* While no wrong message was accepted, each life has had one wrong message at most. *)
Theorem lives_bound T : let h := play o judge davids T [::] in
  ~~ deceived h -> (wrong_verdicts h <= #|lives|)%N.
Proof.
have [uniq_h few _] := play_lives T; move=> h /few le_h; apply: leq_trans le_h _.
by rewrite -(card_uniqP uniq_h) max_card.
Qed.

(* No verdict is released in a life after its reject. *)
Lemma play_ends T h1 l j m v h2 :
  play o judge davids T [::] = h1 ++ Told l j m v :: h2 -> l \notin rejects h1.
Proof.
move: h1 l j m v h2; apply: (@play_keeps o judge davids (fun h => forall h1 l j m v h2,
  h = h1 ++ Told l j m v :: h2 -> l \notin rejects h1)) => [h l m IH|h l j IH|h l j m IH|].
- by move=> h1 l' j' m' v h2; case/lastP: h2 => [|h2 ev];
    rewrite ?cats1 -?rcons_cons -?rcons_cat => /rcons_inj[] // /IH.
- by move=> h1 l' j' m' v h2; case/lastP: h2 => [|h2 ev];
    rewrite ?cats1 -?rcons_cons -?rcons_cat => /rcons_inj[] // /IH.
- rewrite /released; case: ifP => // /ends fresh _ h1 l' j' m' v h2; case/lastP: h2 => [|h2 ev].
    by rewrite cats1 => /rcons_inj[<- <-].
  by rewrite -rcons_cons -rcons_cat => /rcons_inj[/IH].
by case.
Qed.
End Lives.

(* All in all: as many tries as lives. *)
Theorem deceived_lives o (Omega : finType) (mu : Omega -> rat)
    (davids : Omega -> seq event -> option move) T : ends_lives o -> distribution mu ->
  Pr (independent mu (@uniform all_secrets))
     (fun z => deceived (play o (checks z.2) (davids z.1) T [::])) <= #|lives|%:R * passing.
Proof.
move=> ends mu_dist; apply: Pr_independent_le => // w /=.
apply: le_trans (deceived_within_bound o (davids w) T #|lives| (h := [::]) isT).
apply: Pr_le (@uniform_ge0 _) _ => rhos dec.
by have [_ _] := play_lives (checks rhos) (davids w) ends T; apply.
Qed.

(* ----------------------------------------------------------------------------------- tickets *)
Lemma by_tickets_ends : ends_lives by_tickets.
Proof. by move=> h l j /andP[]. Qed.

Lemma waiting_rcons h ev l : waiting (rcons h ev) l =
  match ev with
  | Waits l' m => if l' == l then rcons (waiting h l) m else waiting h l
  | Told l' j _ _ => if l' == l then take j (waiting h l) ++ drop j.+1 (waiting h l)
                     else waiting h l
  | Refused _ _ => waiting h l
  end.
Proof. by rewrite /waiting -cats1 foldl_cat. Qed.

(* Verdicts come in the order in which the messages came. *)
Theorem tickets_order judge davids T l : let h := play by_tickets judge davids T [::] in
  arrived h l = told h l ++ waiting h l.
Proof.
apply: (@play_keeps by_tickets judge davids (fun h => arrived h l = told h l ++ waiting h l)) => //.
- move=> h l' m IH; rewrite waiting_rcons -cats1 /arrived /told !pmap_cat -/(arrived h l).
  rewrite -/(told h l) IH /=; case: (l' == l); rewrite /= !cats0 //.
  by rewrite -cats1 catA.
- move=> h l' j IH; rewrite waiting_rcons -cats1 /arrived /told !pmap_cat -/(arrived h l).
  by rewrite -/(told h l) IH /= !cats0.
move=> h l' j m IH; rewrite /released; case: ifP => // /andP[/eqP-> _] first.
rewrite waiting_rcons -cats1 /arrived /told !pmap_cat -/(arrived h l) -/(told h l) IH /= cats0.
case: eqP => [e|_]; last by rewrite cats0.
by move: first; rewrite -e drop0; case: (waiting h l') => // m' w [->]; rewrite take0 drop1 -catA.
Qed.

Theorem tickets judge davids T : let h := play by_tickets judge davids T [::] in
  [/\ ends_lives by_tickets, forall l, arrived h l = told h l ++ waiting h l
    & forall h1 l j m v h2, h = h1 ++ Told l j m v :: h2 -> l \notin rejects h1].
Proof.
split=> [|l|h1 l j m v h2]; [exact: by_tickets_ends|exact: tickets_order|].
exact: (play_ends by_tickets_ends).
Qed.
End Tickets.
Arguments no_order {F G M N lives}.
Arguments by_tickets {F G M N lives}.

(* -------------------------------------------------------------------------- without an order *)
(* Two wrong messages in flight, a cancellation and a reply, with errors in different rows. *)
Section InFlight.
Variable F : finFieldType.
Definition two_rows (g : unit) : nat := 2.
Definition one_column (g : unit) : nat := 1.
Notation pair_of := (fun l : unit => l).
Variable W : forall g : [finType of unit], 'M[F]_(two_rows g, one_column g).

Definition some_message : message F one_column :=
  @Message F [finType of unit] one_column tt 1 (const_mx 1).
Definition forged (sender : source) (row : 'I_2) : item F two_rows one_column :=
  @Item F _ two_rows one_column sender some_message
    (right_reply W some_message + delta_mx row 0).
Definition both_at_once (h : seq (event F two_rows one_column [finType of unit])) :
    option (move F two_rows one_column [finType of unit]) :=
  match size h with
  | 0%N => Some (Arrive tt (forged FromOffline 0))
  | 1%N => Some (Arrive tt (forged FromDavid 1))
  | 2%N => Some (@Release F _ two_rows one_column [finType of unit] tt 0)
  | 3%N => Some (@Release F _ two_rows one_column [finType of unit] tt
                   (has (fun ev => if ev is Refused _ _ then true else false) h))
  | _ => None
  end.

(* The chance that one of them is accepted, under a rule for the release of verdicts. *)
Definition chance_of_both (o : (unit -> item F two_rows one_column -> bool) ->
                               rule F two_rows one_column [finType of unit]) : rat :=
  Pr (@uniform (all_secrets F 1 two_rows [finType of unit]))
     (fun rhos => deceived W
        (play (o (checks W pair_of rhos)) (checks W pair_of rhos) both_at_once 4 [::])).

Lemma forged_wrong sender row : wrong W (forged sender row).
Proof.
rewrite /wrong /forged /= -subr_eq0 addrC addKr; apply/eqP => /matrixP/(_ row 0)/eqP.
by rewrite !mxE !eqxx oner_eq0.
Qed.

Section Verdicts.
Variable rhos : all_secrets F 1 two_rows [finType of unit].
Notation first := (checks W pair_of rhos tt (forged FromOffline 0)).
Notation second := (checks W pair_of rhos tt (forged FromDavid 1)).

Lemma without_order :
  deceived W (play no_order (checks W pair_of rhos) both_at_once 4 [::]) = first || second.
Proof. by rewrite /deceived /= !forged_wrong /= orbF. Qed.

Lemma with_late_tickets :
  deceived W (play (late_tickets (checks W pair_of rhos)) (checks W pair_of rhos) both_at_once 4
                [::]) = first || second.
Proof.
rewrite /deceived /play /= /released /late_tickets /=.
by case f: first; case s: second; rewrite /= ?f ?s /= ?forged_wrong /= ?f ?s.
Qed.

Lemma with_tickets :
  deceived W (play by_tickets (checks W pair_of rhos) both_at_once 4 [::]) = first.
Proof.
by rewrite /deceived /=; case: first; rewrite /= !forged_wrong //= ?orbF.
Qed.
End Verdicts.

Definition fails (row : 'I_2) (rho : 'M[F]_(2, 1)) : bool :=
  rho^T *m (delta_mx row 0 : 'cV_2) == 0.

Lemma card_fails row : #|[set rho | fails row rho]| = #|F|.
Proof.
have := card_accept 1 (W tt) (const_mx 1 : 'cV_1) (delta_mx row 0).
rewrite mxrank_delta mul1n expn1 => <-; apply: eq_card => rho.
by rewrite !inE /fails accepts_shift.
Qed.

Lemma card_fails_both : #|[set rho | fails 0 rho] :&: [set rho | fails 1 rho]| = 1%N.
Proof.
rewrite (_ : _ :&: _ = [set 0]) ?cards1 //; apply/setP=> rho; rewrite !inE.
apply/andP/eqP => [[/eqP f0 /eqP f1]|->]; last by rewrite /fails trmx0 !mul0mx.
apply/matrixP=> i j; rewrite ord1 mxE.
have zero k : rho^T *m (delta_mx k 0 : 'cV_2) = 0 -> rho k 0 = 0.
  by rewrite -colE => /matrixP/(_ 0 0); rewrite !mxE.
case: i => [[|[|//]] lt_i]; [rewrite -[RHS](zero 0 f0)|rewrite -[RHS](zero 1 f1)];
  by congr (rho _ _); apply: val_inj.
Qed.

Lemma Pr_rho (P : pred 'M[F]_(2, 1)) :
  Pr (@uniform (all_secrets F 1 two_rows [finType of unit])) (fun rhos => P (rhos tt tt))
    = #|[set rho | P rho]|%:R / (#|F| ^ 2)%N%:R.
Proof.
rewrite (@Pr_coordinate [finType of unit] (fun _ => secrets F 1 two_rows) tt
  (fun rho => P (rho tt)) (all_secrets_gt0 _ _ _ _)).
rewrite (@Pr_coordinate [finType of unit] (fun g => [finType of 'M[F]_(two_rows g, 1)]) tt P).
  by rewrite Pr_uniform cardsE card_mx.
exact: card_secrets_gt0.
Qed.

Lemma checks_fails rhos sender row :
  checks W pair_of rhos tt (forged sender row) = fails row (rhos tt tt).
Proof. by rewrite /checks /verdict /forged /right_reply /= accepts_shift. Qed.

(* Both are tried, whatever becomes of the first. *)
Lemma both_errors o :
  (forall rhos : all_secrets F 1 two_rows [finType of unit],
     deceived W (play (o (checks W pair_of rhos)) (checks W pair_of rhos) both_at_once 4 [::])
     = checks W pair_of rhos tt (forged FromOffline 0)
       || checks W pair_of rhos tt (forged FromDavid 1)) ->
  chance_of_both o = (2 * #|F| - 1)%N%:R / (#|F| ^ 2)%N%:R.
Proof.
move=> either; have <- : #|[set rho | fails 0 rho || fails 1 rho]| = (2 * #|F| - 1)%N.
  have := cardsUI [set rho | fails 0 rho] [set rho | fails 1 rho].
  rewrite !card_fails card_fails_both mul2n -addnn => <-; rewrite addnK.
  by apply: eq_card => rho; rewrite !inE.
rewrite -(Pr_rho (fun rho => fails 0 rho || fails 1 rho)).
by apply: eq_Pr => rhos; rewrite either !checks_fails.
Qed.

(* Each alone is accepted by one rho in |F|; the second is tried whatever became of the first. *)
Theorem both_without_order :
  chance_of_both (fun=> no_order) = (2 * #|F| - 1)%N%:R / (#|F| ^ 2)%N%:R.
Proof. exact: both_errors (fun rhos => without_order rhos). Qed.

Theorem both_with_late_tickets :
  chance_of_both (@late_tickets _ _ _ _ _) = (2 * #|F| - 1)%N%:R / (#|F| ^ 2)%N%:R.
Proof. exact: both_errors (fun rhos => with_late_tickets rhos). Qed.

Theorem both_with_tickets : chance_of_both (fun=> by_tickets) = #|F|%:R^-1.
Proof.
rewrite /chance_of_both (@eq_Pr _ _ _
  (fun rhos : all_secrets F 1 two_rows [finType of unit] => fails 0 (rhos tt tt))); last first.
  by move=> rhos; rewrite with_tickets checks_fails.
have F_gt0 : (0 < #|F|)%N by apply/card_gt0P; exists 0.
by rewrite Pr_rho card_fails expnS expn1 natrM invfM mulrA divff ?mul1r // pnatr_eq0 -lt0n.
Qed.
End InFlight.

Theorem in_flight (F : finFieldType)
    (W : forall g : [finType of unit], 'M[F]_(two_rows g, one_column g)) :
  [/\ chance_of_both W (fun=> no_order) = (2 * #|F| - 1)%N%:R / (#|F| ^ 2)%N%:R,
      chance_of_both W (@late_tickets _ _ _ _ _) = (2 * #|F| - 1)%N%:R / (#|F| ^ 2)%N%:R
    & chance_of_both W (fun=> by_tickets) = #|F|%:R^-1].
Proof.
by split; [apply: both_without_order|apply: both_with_late_tickets|apply: both_with_tickets].
Qed.

Theorem in_flight_5 (W : forall g : [finType of unit],
                            'M[[finFieldType of 'F_5]]_(two_rows g, one_column g)) :
  [/\ chance_of_both W (fun=> no_order) = 9%:R / 25%:R,
      chance_of_both W (@late_tickets _ _ _ _ _) = 9%:R / 25%:R
    & chance_of_both W (fun=> by_tickets) = 1 / 5%:R].
Proof.
have card5 : #|[finFieldType of 'F_5]| = 5%N by exact: card_Fp.
by rewrite both_without_order both_with_late_tickets both_with_tickets card5 mul1r.
Qed.
